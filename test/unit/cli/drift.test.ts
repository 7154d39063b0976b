import { afterEach, describe, expect, it } from 'vitest';
import { cli, startServer, type TestServer } from './harness.ts';

const mib = 1024 ** 2;
const counted = (repo: string, storedBytes: number | null, objectCount: number | null) => ({
  repo,
  limitBytes: null,
  storedBytes,
  objectCount,
  countedAt: storedBytes === null ? null : '2026-11-21T04:58:00Z',
});
const object = (repo: string, digit: string, sizeBytes: number) => ({
  repo,
  oid: digit.repeat(64),
  sizeBytes,
  storedAt: null,
});

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A tenant whose repos and objects come in two pages each. */
async function serve(repos: readonly object[], objects: readonly object[], others: readonly object[] = []) {
  server = await startServer(({ path }) => {
    const isLast = path.includes('cursor=');
    const half = <T>(all: readonly T[]) => (isLast ? all.slice(1) : all.slice(0, 1));
    const nextCursor = isLast ? null : 'c00';
    const body = path.includes('/repos')
      ? { repos: half(repos), nextCursor }
      : { objects: half(objects), others: half(others), nextCursor };
    return { status: 200, body };
  });
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  const { asked } = server;
  return { asked, run: (...args: string[]) => cli(['reconcile', 'acme', '--dry-run', ...args], { env }) };
}

describe('reconcile --dry-run', () => {
  it('shows each repo whose count is not what is stored, and changes nothing', async () => {
    const { asked, run } = await serve(
      [
        counted('art', 2 * mib, 2),
        counted('game', mib, 1),
        counted('gone', 5, 1),
        counted('new', null, null),
      ],
      [object('art', 'a', mib), object('game', 'b', mib), object('art', 'c', mib)],
      [
        { repo: 'art', objectCount: 2, sizeBytes: 512 },
        { repo: '', objectCount: 1, sizeBytes: 3 },
      ],
    );
    expect((await run()).out).toBe(
      [
        'repo       counted as  stored   drift  objects  counted',
        '(no repo)           -     3 B    +3 B       +1  never',
        'art             2 MiB   2 MiB  +512 B       +2  2 min ago',
        'gone              5 B     0 B    -5 B       -1  2 min ago',
        'The store has 6 objects, 3 MiB. Nothing was changed. What was pushed or deleted since a repo was counted is no mistake.',
        '',
      ].join('\n'),
    );
    expect(new Set(asked.map(({ method }) => method))).toEqual(new Set(['GET']));
  });

  it('says so if nothing is wrong', async () => {
    const { run } = await serve([counted('art', 3, 1), counted('new', null, null)], [object('art', 'a', 3)]);
    expect((await run()).out).toBe('The store has 1 object, 3 B. That is what was counted.\n');
  });

  it('tells a program of every repo', async () => {
    const { run } = await serve([counted('art', 3, 1)], [object('art', 'a', 3), object('web', 'b', 4)]);
    expect(JSON.parse((await run('--json')).out)).toEqual({
      tenant: 'acme',
      repos: [
        {
          repo: 'art',
          counted: { storedBytes: 3, objectCount: 1, countedAt: '2026-11-21T04:58:00Z' },
          stored: { objectCount: 1, storedBytes: 3 },
        },
        { repo: 'web', counted: null, stored: { objectCount: 1, storedBytes: 4 } },
      ],
    });
  });
});
