import path from 'node:path';
import { expect, it } from 'vitest';
import { useTempFolders } from '../../support/temp-folder.ts';
import { exampleAnswer } from './api-examples.ts';
import { type Answer, type Asked, cli, startServer } from './harness.ts';

const folderFor = useTempFolders();
const storedAt = '2026-11-20T08:00:00Z';
const oid = 'a'.repeat(64);

/** Two pages: of a repo for Git LFS, and of one of files. */
const answer = (asked: Asked): Answer => {
  if (!/^\/v1\/tenants\/acme\/objects/.test(asked.path)) return exampleAnswer(asked);
  const isFirst = !asked.path.includes('cursor=');
  return {
    status: 200,
    body: {
      objects: isFirst ? [{ repo: 'game', oid, sizeBytes: 10, storedAt }] : [],
      ...(!isFirst && {
        files: [
          { repo: 'media', name: 'a/Übersicht 1.png', sizeBytes: 3000, storedAt },
          { repo: 'media', name: oid, sizeBytes: 5, storedAt },
        ],
      }),
      others: [],
      nextCursor: isFirst ? 'c61' : null,
    },
  };
};

async function run(line: string): Promise<{ code: number; out: string; err: string; asked: number }> {
  let asked = 0;
  const server = await startServer((request) => {
    asked += 1;
    return answer(request);
  });
  try {
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
    return { ...(await cli(line.split(' '), { env })), asked };
  } finally {
    await server.close();
  }
}

it('files list has files by name, and counts them', async () => {
  const { code, out } = await run('files list --tenant acme');
  expect(code).toBe(0);
  const rows = out
    .trimEnd()
    .split('\n')
    .map((row) => row.trim().split(/ {2,}/));
  expect(rows).toEqual([
    ['10 B', expect.any(String), 'game', oid],
    ['2.93 KiB', expect.any(String), 'media', 'a/Übersicht 1.png'],
    ['5 B', expect.any(String), 'media', oid],
    [expect.stringMatching(/^Total: 1 object, 2 files, /)],
  ]);
  const json = JSON.parse((await run('files list --tenant acme --json')).out);
  expect([json.objects.length, json.files.length]).toEqual([1, 2]);
});

it('files list --limit counts files, too', async () => {
  expect((await run('files list --tenant acme --limit 1')).asked).toBe(1);
  expect((await run('files list --tenant acme --limit 3')).asked).toBe(2);
});

it('scan now --dry-run counts files as the server does', async () => {
  const { code, out } = await run('scan now acme --dry-run --json');
  expect(code).toBe(0);
  expect(JSON.parse(out).repos).toContainEqual(
    expect.objectContaining({ repo: 'media', stored: { objectCount: 2, storedBytes: 3005 } }),
  );
});

it('mirror and export local take no files for objects, nor nothing for all', async () => {
  const mirrored = await run('mirror acme media --to http://127.0.0.1:1/game.git');
  expect(mirrored).toMatchObject({ code: 1, out: '' });
  expect(mirrored.err).toContain('acme/media is a repo of kind files, not of Git LFS.');
  const file = path.join(folderFor(), 'all.tar');
  const local = await run(`export local acme --output ${file}`);
  expect(local).toMatchObject({ code: 1, out: '' });
  expect(local.err).toContain('acme/media is a repo of kind files.');
  expect(local.err).toContain('lfs-quota export start acme');
});

it('token create takes a prefix, and lists show it', async () => {
  const sent: unknown[] = [];
  const server = await startServer((asked) => {
    if (asked.method === 'POST') sent.push(asked.body);
    const withPrefix = (body: unknown) => ({ ...(body as object), prefix: 'users/7/' });
    return exampleAnswer(asked, (body) => {
      const { tokens } = body as { tokens?: unknown[] };
      return tokens ? { ...(body as object), tokens: tokens.map(withPrefix) } : withPrefix(body);
    });
  });
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  try {
    const line = 'token create acme --scope write --repo game --prefix users/7/';
    const made = await cli(line.split(' '), { env });
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining('repos  all, files users/7/…') });
    expect(sent).toEqual([expect.objectContaining({ repos: ['game'], prefix: 'users/7/' })]);
    expect((await cli(['token', 'list', 'acme'], { env })).out).toContain('all, files users/7/…');
  } finally {
    await server.close();
  }
});
