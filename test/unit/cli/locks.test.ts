import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

const ofAda = {
  id: '0'.repeat(52),
  path: 'art/hero.psd',
  owner: 'ada',
  ownerName: 'ada',
  lockedAt: '2026-11-21T04:58:00Z',
};
const ofBuild = {
  ...ofAda,
  path: 'a.psd',
  owner: '5f0c1e2d3b4a5968',
  ownerName: 'build',
  lockedAt: '2026-11-18T05:00:00Z',
};
const locksPath = '/v1/tenants/acme/repos/game/locks';

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(answer: (asked: Asked) => Answer, options: Omit<Parameters<typeof cli>[1], 'env'> = {}) {
  server = await startServer(answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  const { asked } = server;
  return {
    asked: () => asked.map(({ method, path }) => `${method} ${path}`),
    run: (...args: string[]) => cli(['lock', ...args], { env, ...options }),
  };
}

const page = (locks: readonly object[], nextCursor: string | null = null): Answer => ({
  status: 200,
  body: { locks, nextCursor },
});
const released = (releasedCount: number, hasMore = false): Answer => ({
  status: 200,
  body: { tenant: 'acme', repo: 'game', releasedCount, hasMore },
});

describe('lock delete', () => {
  const answer = ({ method }: Asked) => (method === 'GET' ? page([ofAda, ofBuild]) : released(2));

  it('shows the locks, asks, and releases them', async () => {
    const questions: string[] = [];
    const ask = async (question: string) => {
      questions.push(question);
      return ' y';
    };
    const { asked, run } = await serve(answer, { ask });
    const result = await run('delete', 'acme', 'game', '--owner', 'ada');
    expect(result).toMatchObject({ code: 0, out: 'Released 2 locks.\n' });
    expect(result.err).toContain('art/hero.psd  ada');
    expect(questions).toEqual(['Release all 2? [y/N] ']);
    expect(asked()).toEqual([`GET ${locksPath}?owner=ada&limit=1000`, `DELETE ${locksPath}?owner=ada`]);
  });

  it.each(['', 'n', 'ada'])('releases nothing when the answer is %j', async (text) => {
    const { asked, run } = await serve(answer, { ask: async () => text });
    const result = await run('delete', 'acme', 'game', '--all');
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(result.err).toContain('No lock was released.');
    expect(asked()).toEqual([`GET ${locksPath}?limit=1000`]);
  });

  it('does not ask about locks that there are not', async () => {
    const ask = () => Promise.reject(new Error('asked'));
    const { run } = await serve(() => page([]), { ask });
    const result = await run('delete', 'acme', 'game', '--path', 'a.psd');
    expect(result).toMatchObject({ code: 3, out: '' });
    expect(result.err).toContain('There is no such lock.');
  });

  it('--yes releases without asking, and repeats the request until none is left', async () => {
    const answers = [released(1000, true), released(204)];
    const { asked, run } = await serve(() => answers.shift() ?? released(0));
    expect(await run('delete', 'acme', 'game', '--all', '--yes')).toEqual({
      code: 0,
      out: 'Released 1,204 locks.\n',
      err: '',
    });
    expect(asked()).toEqual([`DELETE ${locksPath}`, `DELETE ${locksPath}`]);
  });

  it('--json prints the last answer, with how many it were in all', async () => {
    const texts = ['true', 'false'].map(
      (hasMore) => `{ "tenant":"acme","repo":"game","releasedCount":1,"hasMore":${hasMore} }`,
    );
    const left = [...texts];
    const { run } = await serve(() => ({ status: 200, body: left.shift() }));
    const result = await run('delete', 'acme', 'game', '--all', '--yes', '--json');
    const out = '{"tenant":"acme","repo":"game","releasedCount":2,"hasMore":false}\n';
    expect(result).toEqual({ code: 0, out, err: '' });
  });

  it.each([
    [['delete', 'acme', 'game', '--yes'], /--owner, --path or both, or else --all/],
    [['delete', 'acme', 'game', '--all', '--owner', 'ada', '--yes'], /--owner, --path or both/],
    [['delete', 'acme', 'game', '--all'], /no terminal to ask .* --yes/],
    [['delete', '..', 'game', '--all', '--yes'], /tenant/],
    [['delete', 'acme', 'a/b', '--all', '--yes'], /repo/],
  ])('%j sends nothing and exits with 2', async (args, says) => {
    const { asked, run } = await serve(answer);
    const result = await run(...args);
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toMatch(says);
    expect(asked()).toEqual([]);
  });
});
