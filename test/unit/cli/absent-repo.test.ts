import path from 'node:path';
import { expect, it } from 'vitest';
import { useTempFolders } from '../../support/temp-folder.ts';
import { exampleAnswer } from './api-examples.ts';
import { type Answer, type Asked, cli, startServer } from './harness.ts';

const folderFor = useTempFolders();

/** Every list is empty. The repo `empty` is there, and no other. */
const answer = (asked: Asked): Answer => {
  const url = asked.path;
  if (url === '/v1/tenants/acme/repos/empty') return exampleAnswer(asked);
  if (!url.startsWith('/v1/tenants/acme/repos/'))
    return {
      status: 200,
      body: {
        objects: [],
        others: [],
        deletions: [],
        reservations: [],
        downloads: [],
        month: { month: '2026-11', bytes: 0, objects: 0, limitBytes: null, resetsAt: '2026-12-01T00:00:00Z' },
        nextCursor: null,
      },
    };
  const problem = { code: 'repo-not-found', title: 'Repo not found', status: 404, detail: 'It is so.' };
  return { status: 404, type: 'application/problem+json', body: problem };
};

it.each([
  'files list --tenant acme --repo REPO',
  'files list --tenant acme --repo REPO --json',
  'files deletions --tenant acme --repo REPO',
  'scan uploads acme --repo REPO',
  'downloads acme --repo REPO',
  'mirror acme REPO --to http://127.0.0.1:1/game.git',
  'export local acme --repo REPO --output OUTPUT',
])('%s is an error if there is no such repo', async (line) => {
  const server = await startServer(answer);
  const output = path.join(folderFor(), 'acme.tar');
  const run = (repo: string) =>
    cli(line.replace('REPO', repo).replace('OUTPUT', output).split(' '), {
      env: { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' },
    });
  try {
    expect(await run('nosuch')).toEqual({
      code: 3,
      out: '',
      err: expect.stringContaining(
        'error: Repo "acme/nosuch" not found, or your token can\'t see it. (404)\n',
      ),
    });
    expect((await run('empty')).code).not.toBe(3);
  } finally {
    await server.close();
  }
});
