import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

const mib = 1024 ** 2;
const issued = {
  id: '0'.repeat(32),
  repo: 'game',
  state: 'issued',
  objectCount: 2,
  bytes: 9 * mib,
  arrived: false,
  madeBy: 'github:1234',
  createdAt: '2026-11-21T04:58:00Z',
  expiresAt: '2026-11-21T05:29:00Z',
  reservedUntil: '2026-11-21T05:34:11Z',
};
const late = {
  ...issued,
  repo: 'art',
  state: 'late',
  objectCount: 1204,
  bytes: 700 * mib,
  createdAt: '2026-11-21T02:55:00Z',
  expiresAt: '2026-11-21T03:26:00Z',
  reservedUntil: '2026-11-22T03:31:11Z',
};
const arrived = { ...issued, madeBy: null, objectCount: 1, bytes: 5 * mib, arrived: true };

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
    run: (...args: string[]) => cli(['reservation', 'list', ...args], { env }),
  };
}

const page = (reservations: readonly object[], nextCursor: string | null = null): Answer => ({
  status: 200,
  body: { reservations, nextCursor },
});

describe('reservation list', () => {
  it('shows every page with the time that is left, and the total on the last line', async () => {
    const { paths, run } = await serve(({ path }) =>
      path.includes('cursor=') ? page([issued, arrived]) : page([late], 'c00'),
    );
    const result = await run('acme');
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(result.out).toBe(
      [
        'repo  state    objects     size  created    URLs expire  room is free  made by',
        'art   late       1,204  700 MiB  2 h ago    -            in 23 h       github:1234',
        'game  issued         2    9 MiB  2 min ago  in 29 min    in 34 min     github:1234',
        'game  arrived        1    5 MiB  2 min ago  in 29 min    -             -',
        'Total: 3 reservations, 1,207 objects, 714 MiB. Arrived already: 1 object, 5 MiB.',
        '',
      ].join('\n'),
    );
    expect(paths()).toEqual([
      'GET /v1/tenants/acme/reservations',
      'GET /v1/tenants/acme/reservations?cursor=c00',
    ]);
  });

  it('of one repo asks for that on every page', async () => {
    const { paths, run } = await serve(({ path }) => page([issued], path.includes('cursor=') ? null : 'c00'));
    const { out } = await run('acme', '--repo', 'game.git', '--page-size', '1');
    expect(out.split('\n').at(-2)).toBe('Total: 2 reservations, 4 objects, 18 MiB.');
    expect(paths()).toEqual([
      'GET /v1/tenants/acme/reservations?repo=game&limit=1',
      'GET /v1/tenants/acme/reservations?repo=game&cursor=c00&limit=1',
    ]);
  });

  it('says when there are none', async () => {
    const { run } = await serve(page([]));
    expect((await run('acme')).out).toBe('No reservations: nothing is promised to uploads.\n');
  });

  it('--json prints all pages as one', async () => {
    const body = (cursor: string) => `{"reservations":[ ], "nextCursor":${cursor}, "new":1}`;
    const { paths, run } = await serve(({ path }) => ({
      status: 200,
      body: body(path.includes('cursor=') ? 'null' : '"c00"'),
    }));
    const out = '{"reservations":[],"nextCursor":null,"new":1}\n';
    expect(await run('acme', '--json')).toEqual({ code: 0, out, err: '' });
    expect(paths()).toHaveLength(2);
  });

  it('with a wrong name sends nothing and exits with 2', async () => {
    const { paths, run } = await serve(page([]));
    expect(await run('..')).toMatchObject({ code: 2, out: '' });
    expect(await run('acme', '--repo', 'a/b')).toMatchObject({ code: 2, out: '' });
    expect(paths()).toEqual([]);
  });
});

describe('reservation cancel', () => {
  const cancelled = (cancelledCount: number, hasMore = false): Answer => ({
    status: 200,
    body: { tenant: 'acme', cancelledCount, bytes: mib, hasMore },
  });
  const start = async (answers: Answer[], ask?: (question: string) => Promise<string>) => {
    server = await startServer(() => answers.shift() ?? cancelled(0));
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
    const { asked } = server;
    return {
      paths: () => asked.map(({ method, path }) => `${method} ${path}`),
      run: (...args: string[]) =>
        cli(['reservation', 'cancel', 'acme', ...args], { env, ...(ask && { ask }) }),
    };
  };

  it('asks, and goes on until none is left', async () => {
    const questions: string[] = [];
    const { paths, run } = await start([cancelled(1000, true), cancelled(1)], async (question) => {
      questions.push(question);
      return 'y';
    });
    const result = await run('--made-by', 'github:7');
    expect(result).toMatchObject({
      code: 0,
      out: 'Cancelled 1,001 reservations, 2 MiB. A recount frees their space.\n',
    });
    expect(questions).toHaveLength(1);
    const path = '/v1/tenants/acme/reservations?madeBy=github%3A7';
    expect(paths()).toEqual([`DELETE ${path}`, `DELETE ${path}`]);
  });

  it('explains why none was cancelled', async () => {
    const { run } = await start([cancelled(0)]);
    expect(await run('--all', '--yes')).toMatchObject({
      code: 0,
      out: 'Cancelled none: only those in the state "late" can be. See the states: lfs-quota reservation list acme\n',
    });
  });

  it('gives up nothing unless somebody says yes, and says which', async () => {
    const { paths, run } = await start([], async () => 'n');
    expect(await run('--all')).toMatchObject({ code: 1, out: '' });
    expect(await run()).toMatchObject({ code: 2, out: '' });
    expect(await run('--all', '--id', 'x')).toMatchObject({ code: 2, out: '' });
    expect(paths()).toEqual([]);
  });

  it('without a terminal wants --yes', async () => {
    const { paths, run } = await start([cancelled(1)]);
    expect(await run('--repo', 'game', '--id', 'x')).toMatchObject({ code: 2 });
    expect(await run('--repo', 'game', '--id', 'x', '--yes', '--json')).toMatchObject({
      code: 0,
      out: `{"tenant":"acme","cancelledCount":1,"bytes":${mib},"hasMore":false}\n`,
    });
    expect(paths()).toEqual(['DELETE /v1/tenants/acme/reservations?repo=game&id=x']);
  });
});
