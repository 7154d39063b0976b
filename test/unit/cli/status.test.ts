import { afterEach, describe, expect, it } from 'vitest';
import type { StatusBody } from '../../../lambda/http/management/status/schemas.ts';
import { cli, startServer, type TestServer } from './harness.ts';

const fine: StatusBody = {
  checkedAt: '2026-11-21T05:00:00Z',
  state: 'fine',
  parts: [
    { part: 'store', state: 'fine', says: 'The object store (objects) answers, in 3 ms.', todo: null },
    { part: 'failures', state: 'fine', says: 'Nothing failed.', todo: null },
  ],
  store: { kind: 's3', bucket: 'objects', endpoint: null, latencyMs: 3 },
  schedule: { ranAt: '2026-11-21T04:59:00Z', handedUntil: '2026-11-21T04:58:50Z' },
  overdue: { tenants: [], more: false },
  queues: [],
  failures: [],
};
const act: StatusBody = {
  ...fine,
  state: 'act',
  parts: [
    { part: 'store', state: 'unknown', says: 'Nobody knows.', todo: 'Look.' },
    {
      part: 'failures',
      state: 'act',
      says: 'Failed, and not made up for: 1 recount.',
      todo: 'Read the log.',
    },
  ],
  failures: [
    {
      kind: 'recount',
      tenant: 'acme',
      failedAt: '2026-11-21T04:58:00Z',
      since: '2026-11-21T04:00:00Z',
      tries: 1204,
      why: 'unexpected',
      over: false,
    },
    {
      kind: 'export',
      tenant: 'lab',
      exportId: 'e',
      failedAt: '2026-11-19T05:00:00Z',
      since: '2026-11-19T05:00:00Z',
      tries: 1,
      why: 'export',
      over: true,
    },
  ],
};

describe('status', () => {
  let server: TestServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });
  const run = async (body: StatusBody, ...args: string[]) => {
    server = await startServer(() => ({ status: 200, body }));
    const result = await cli(['status', ...args], {
      env: { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' },
    });
    return { ...result, asked: server.asked.map(({ method, path }) => `${method} ${path}`) };
  };

  it('shows each part in a line, and ends with 0 if nothing is to be done', async () => {
    const { asked, ...result } = await run(fine);
    expect(result).toEqual({
      code: 0,
      err: '',
      out: [
        'part      state  says',
        'store     fine   The object store (objects) answers, in 3 ms.',
        'failures  fine   Nothing failed.',
        '',
      ].join('\n'),
    });
    expect(asked).toEqual(['GET /v1/status']);
  });

  it('shows what failed and what is to be done, and ends with 1', async () => {
    const { code, out, err } = await run(act);
    expect(out).toBe(
      [
        'part      state     says',
        'store     unknown!  Nobody knows.',
        'failures  act!      Failed, and not made up for: 1 recount.',
        '',
        'tenant  what failed  last        tries  why         state',
        'acme    recount      2 min ago   1,204  unexpected  open',
        'lab     export       2 days ago      1  export      over',
        '',
        'To do',
        'store: Look.',
        'failures: Read the log.',
        '',
      ].join('\n'),
    );
    expect([code, err]).toEqual([1, expect.stringContaining('Something is to be done: store, failures.')]);
  });

  it('--json prints the answer as it came, with the same exit codes', async () => {
    const all = await run(fine, '--json');
    expect([all.code, JSON.parse(all.out)]).toEqual([0, fine]);
    await server?.close();
    const some = await run(act, '--json');
    expect([some.code, JSON.parse(some.out)]).toEqual([1, act]);
  });
});
