import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

const object = (digit: string, sizeBytes: number, repo = 'game', storedAt: string | null = null) => ({
  repo,
  oid: digit.repeat(64),
  sizeBytes,
  storedAt,
});

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(answer: Answer | ((asked: Asked) => Answer)) {
  server = await startServer(typeof answer === 'function' ? answer : () => answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  const { asked } = server;
  return {
    paths: () => asked.map(({ method, path }) => `${method} ${path}`),
    run: (...args: string[]) => cli(['object', 'list', ...args], { env }),
  };
}

const page = (objects: readonly object[], nextCursor: string | null = null): Answer => ({
  status: 200,
  body: { objects, others: [], nextCursor },
});

describe('object list', () => {
  it('shows every page, and the total on the last line', async () => {
    const { paths, run } = await serve(({ path }) =>
      path.includes('cursor=') ? page([object('b', 1023 * 1024 ** 3)]) : page([object('a', 5, 'art')], 'c00'),
    );
    expect(await run('acme')).toEqual({
      code: 0,
      err: '',
      out: [
        `${'a'.repeat(64)}          5 B  art`,
        `${'b'.repeat(64)}     1023 GiB  game`,
        'Total: 2 objects, 1023 GiB.',
        '',
      ].join('\n'),
    });
    expect(paths()).toEqual([
      'GET /v1/tenants/acme/objects?limit=1000',
      'GET /v1/tenants/acme/objects?cursor=c00&limit=1000',
    ]);
  });

  it('of one repo asks for that on every page', async () => {
    const { paths, run } = await serve(({ path }) => page([], path.includes('cursor=') ? null : 'c00'));
    expect((await run('acme', '--repo', 'game.git', '--page-size', '1')).out).toBe(
      'No objects: nothing is stored.\n',
    );
    expect(paths()).toEqual([
      'GET /v1/tenants/acme/objects?repo=game&limit=1',
      'GET /v1/tenants/acme/objects?repo=game&cursor=c00&limit=1',
    ]);
  });

  it('--json prints all pages as one', async () => {
    const body = (cursor: string) => `{"objects":[ ], "others":[], "nextCursor":${cursor}, "new":1}`;
    const { paths, run } = await serve(({ path }) => ({
      status: 200,
      body: body(path.includes('cursor=') ? 'null' : '"c00"'),
    }));
    const out = '{"objects":[],"others":[],"nextCursor":null,"new":1}\n';
    expect(await run('acme', '--json')).toEqual({ code: 0, out, err: '' });
    expect(paths()).toHaveLength(2);
  });

  it('shows the largest of all pages alone, or those that were stored first', async () => {
    const { run } = await serve(({ path }) =>
      path.includes('cursor=')
        ? page([object('c', 7, 'art', '2026-11-21T04:58:00Z'), object('d', 9, 'art', '2026-11-19T05:00:00Z')])
        : page([object('a', 8, 'game', '2026-11-20T05:00:00Z'), object('b', 6)], 'c00'),
    );
    expect((await run('acme', '--largest', '2')).out).toBe(
      [
        `${'oid'.padEnd(64)}  size  stored      repo`,
        `${'d'.repeat(64)}   9 B  2 days ago  art`,
        `${'a'.repeat(64)}   8 B  24 h ago    game`,
        'Total: 4 objects, 30 B.',
        '',
      ].join('\n'),
    );
    const oldest = (await run('acme', '--oldest', '9')).out.split('\n').slice(1, 5);
    expect(oldest.map((line) => line.slice(0, 1))).toEqual(['d', 'a', 'c', 'b']);
    const { objects, nextCursor } = JSON.parse((await run('acme', '--largest', '2', '--json')).out);
    expect(objects.map(({ sizeBytes }: { sizeBytes: number }) => sizeBytes)).toEqual([9, 8]);
    expect(nextCursor).toBeNull();
  });

  it.each([
    ['--largest', '0'],
    ['--largest', '10001'],
    ['--oldest', 'x'],
    ['--oldest', '1', '--largest', '1'],
    ['--oldest', '1', '--limit', '1'],
    ['--largest', '1', '--cursor', 'c00'],
  ])('does not take %s %s %s', async (...args) => {
    const { paths, run } = await serve(page([]));
    expect((await run('acme', ...args)).code).toBe(2);
    expect(paths()).toEqual([]);
  });
});
