import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

const mib = 1024 ** 2;
const marked = {
  repo: 'game',
  oid: 'a1'.repeat(32),
  sizeBytes: 9 * mib,
  state: 'marked',
  dueAt: '2026-11-21T05:45:00Z',
};
const going = { ...marked, repo: 'art', oid: 'b2'.repeat(32), sizeBytes: mib, state: 'deleting' };

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(answer: (asked: Asked) => Answer) {
  server = await startServer(answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  const { asked } = server;
  return {
    paths: () => asked.map(({ method, path }) => `${method} ${path}`),
    run: (...args: string[]) => cli(['deletion', 'list', ...args], { env }),
  };
}

const page = (deletions: readonly object[], nextCursor: string | null = null): Answer => ({
  status: 200,
  body: { deletions, nextCursor },
});

describe('deletion list', () => {
  it('shows every page with the time that is left, and the total on the last line', async () => {
    const { paths, run } = await serve(({ path }) =>
      path.includes('cursor=') ? page([marked]) : page([going], 'c00'),
    );
    const result = await run('acme');
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(result.out).toBe(
      [
        `oid${' '.repeat(63)} size  goes       repo`,
        `${going.oid}  1 MiB  going now  art`,
        `${marked.oid}  9 MiB  in 45 min  game`,
        'Total: 2 objects, 10 MiB. To keep one, push it again before it goes.',
        '',
      ].join('\n'),
    );
    expect(paths()).toEqual(['GET /v1/tenants/acme/deletions', 'GET /v1/tenants/acme/deletions?cursor=c00']);
  });

  it('of one repo asks for that', async () => {
    const { paths, run } = await serve(() => page([]));
    expect((await run('acme', '--repo', 'game.git')).out).toBe('No deletions: no object is marked.\n');
    expect(paths()).toEqual(['GET /v1/tenants/acme/deletions?repo=game']);
  });

  it('--json prints all pages as one', async () => {
    const { run } = await serve(({ path }) =>
      path.includes('cursor=') ? page([marked]) : page([going], 'c00'),
    );
    const { code, out } = await run('acme', '--json');
    expect([code, JSON.parse(out)]).toEqual([0, { deletions: [going, marked], nextCursor: null }]);
  });
});
