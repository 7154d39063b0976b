import { afterEach, describe, expect, it } from 'vitest';
import { renderBar } from '../../../cli/views.ts';
import { cli, startServer, type TestServer } from './harness.ts';

const mib = 1024 ** 2;
const body = {
  tenant: 'acme',
  plan: 'pro',
  limitBytes: 100 * mib,
  downloadLimitBytes: null,
  reposMustExist: false,
  usage: {
    storedBytes: 50 * mib,
    objectCount: 1,
    reservedBytes: 25 * mib,
    reservedUntil: '2026-11-21T05:36:00Z',
    committedBytes: 75 * mib,
    countedAt: '2026-11-21T04:59:48Z',
    source: 'cache',
  },
  forecast: { fullOn: null, reason: 'too-few-days', bytesPerDay: null },
  lastRefusals: [],
  repos: [
    { repo: 'site', limitBytes: null, storedBytes: 0, objectCount: 0, countedAt: '2026-11-21T04:57:00Z' },
    {
      repo: 'game',
      limitBytes: null,
      storedBytes: 50 * mib,
      objectCount: 1,
      countedAt: '2026-11-21T04:59:48Z',
    },
  ],
  refreshing: false,
};

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function usage(change: object, options: { args?: string[]; lang?: string } = {}) {
  server = await startServer(() => ({ status: 200, body: { ...body, ...change } }));
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't', LANG: options.lang ?? 'en_US.UTF-8' };
  return cli(['usage', 'acme', ...(options.args ?? [])], { env });
}

describe('usage', () => {
  it('draws used, reserved and free, and the repos, largest first', async () => {
    const result = await usage({});
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(result.out).toBe(
      [
        'acme (plan pro)',
        `[${'█'.repeat(20)}${'▒'.repeat(10)}${'·'.repeat(10)}]  75.0% of 100 MiB`,
        'stored    50 MiB in 1 object',
        'reserved  25 MiB (▒ admitted uploads that may still arrive, the last in 36 min)',
        'free      25 MiB',
        'limit     100 MiB',
        'counted   12 s ago',
        'See what is reserved: lfs-quota reservation list acme',
        '',
        'repo  stored  objects  counted',
        'game  50 MiB        1  12 s ago',
        'site     0 B        0  3 min ago',
        '',
      ].join('\n'),
    );
  });

  it('says that there are more repos, if the answer has the largest alone', async () => {
    const { out } = await usage({ reposTruncated: true });
    expect(out).toMatch(/^site .*\nThe 2 largest. See all: lfs-quota repo list acme\n$/m);
  });

  it('names no time if none is known, or if it is over', async () => {
    for (const reservedUntil of [null, '2026-11-21T05:00:00Z']) {
      const { out } = await usage({ usage: { ...body.usage, reservedUntil } });
      expect(out).toContain('reserved  25 MiB (▒ admitted uploads that may still arrive)\n');
      await server?.close();
    }
  });

  it('draws with ASCII when the locale has nothing else', async () => {
    expect((await usage({}, { lang: 'C' })).out).toContain(
      `[${'#'.repeat(20)}${'+'.repeat(10)}${'.'.repeat(10)}]`,
    );
  });

  it('shows a tenant that was never counted without figures, not with zeros', async () => {
    const { out } = await usage({ usage: null, repos: [], refreshing: true });
    expect(out).toContain('Not counted yet.');
    expect(out).toContain('A recount is running');
    expect(out).not.toContain('stored');
  });

  it('shows no bar for an unlimited tenant', async () => {
    const { out } = await usage({ limitBytes: null });
    expect(out).toContain('limit     unlimited');
    expect(out).not.toMatch(/[█%]|free|reservation/);
  });

  const idle = { ...body.usage, reservedBytes: 0, reservedUntil: null, countedAt: '2026-11-21T04:50:00Z' };

  it('of an idle tenant says why its count is old, and names no reservations', async () => {
    const { out } = await usage({ usage: idle });
    expect(out).toContain('counted   10 min ago (nothing was uploaded since, so it was not counted again)\n');
    expect(out).not.toContain('reservation');
  });

  it.each([
    ['it is young', { usage: { ...idle, countedAt: '2026-11-21T04:58:01Z' } }],
    ['uploads are under way', { usage: { ...idle, reservedBytes: 1 } }],
    ['a recount runs', { usage: idle, refreshing: true }],
    ['a repo is being deleted', { usage: idle, repos: [{ ...body.repos[0], deleting: true }] }],
    ['the tenant is being deleted', { usage: idle, deleting: true }],
  ])('does not explain its age when %s', async (_when, change) => {
    expect((await usage(change)).out).toMatch(/^counted {3}\d+ \w+ ago$/m);
  });

  it('shows by how much the tenant is over its limit', async () => {
    expect((await usage({ limitBytes: 60 * mib })).out).toContain('over      15 MiB');
  });

  it('--refresh asks for a recount', async () => {
    await usage({}, { args: ['--refresh'] });
    expect(server?.asked[0]?.path).toBe('/v1/tenants/acme/subscription?refresh=true');
  });

  it('--watch redraws in place, and recounts only the first time', async () => {
    server = await startServer(() => ({ status: 200, body }));
    let sleeps = 0;
    const watching = cli(['usage', 'acme', '--watch', '--refresh', '--url', server.url, '--token', 't'], {
      isTerminal: true,
      sleep: async () => {
        sleeps += 1;
        // What ends it here stands for the server going away.
        if (sleeps === 2) await server?.close();
      },
    });
    const result = await watching;
    expect(result.code).toBe(6);
    expect(result.out.split('\u001b[12A\u001b[J')).toHaveLength(2);
    expect(server.asked.map(({ path }) => path.split('?')[1])).toEqual(['refresh=true', undefined]);
  });
});

describe('the bar', () => {
  const cells = (storedBytes: number, reservedBytes: number, limitBytes: number) =>
    /\[(#*)(\+*)(\.*)\]/
      .exec(renderBar({ storedBytes, reservedBytes, limitBytes }, { drawBlocks: false }))
      ?.slice(1)
      .map((part) => part.length);

  it.each([
    { stored: 0, reserved: 0, limit: 1000, drawn: [0, 0, 40] },
    { stored: 1, reserved: 0, limit: 1000, drawn: [1, 0, 39] },
    { stored: 0, reserved: 1, limit: 1000, drawn: [0, 1, 39] },
    { stored: 500, reserved: 1, limit: 1000, drawn: [19, 1, 20] },
    { stored: 999, reserved: 0, limit: 1000, drawn: [39, 0, 1] },
    { stored: 1000, reserved: 0, limit: 1000, drawn: [40, 0, 0] },
    { stored: 990, reserved: 10, limit: 1000, drawn: [39, 1, 0] },
    { stored: 5000, reserved: 5000, limit: 1000, drawn: [39, 1, 0] },
    { stored: 0, reserved: 0, limit: 0, drawn: [40, 0, 0] },
  ])('$stored stored and $reserved reserved of $limit', ({ stored, reserved, limit, drawn }) => {
    expect(cells(stored, reserved, limit)).toEqual(drawn);
  });
});
