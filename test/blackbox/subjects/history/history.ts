import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, bearer, bodyOf, expectProblem, expectStatus, jsonOf } from '../../api.ts';
import { objectOf, objectsIn, type Place, pointer, postBatch, push, serves } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';
import { repoShape, subscriptionOf } from '../../subscription.ts';

/** A reconcile may have to wait for the one before. */
const waitTimeoutMs = 120_000;

const instant = z.iso.datetime();

const lastRefusalsShape = z.array(
  z.strictObject({
    at: instant,
    repo: z.string(),
    user: z.string().nullable(),
    files: z.number(),
    atLeast: z.boolean(),
    bytes: z.number(),
    shortBytes: z.number(),
    limit: z.enum(['tenant', 'repo']),
  }),
);

const forecastShape = z.strictObject({
  fullOn: z.iso.date().nullable(),
  reason: z.enum(['unlimited', 'not-scanned', 'too-few-days', 'not-growing', 'beyond-two-years']).nullable(),
  bytesPerDay: z.int().nullable(),
});

const historyShape = z.strictObject({
  tenant: z.string(),
  limitBytes: z.number().nullable(),
  from: z.iso.date(),
  to: z.iso.date(),
  days: z.array(
    z.strictObject({
      day: z.iso.date(),
      storedBytes: z.number(),
      objectCount: z.number(),
      maxStoredBytes: z.number(),
      maxUsedBytes: z.number(),
      limitBytes: z.number().nullable().optional(),
      refusals: z.number(),
      repoRefusals: z.number(),
      downloads: z.strictObject({ bytes: z.number(), objects: z.number() }).nullable(),
      carried: z.boolean(),
    }),
  ),
  forecast: forecastShape,
  lastRefusals: lastRefusalsShape,
});

const usageShape = z.strictObject({
  usage: z.array(
    z.strictObject({
      id: z.string(),
      tenant: z.string(),
      hour: instant,
      byteSeconds: z.string(),
      peakBytes: z.number().optional(),
      storedBytes: z.number().optional(),
      reason: z.string().optional(),
      at: instant.optional(),
    }),
  ),
  nextCursor: z.string().nullable(),
});

/** What was stored in each hour. Of a tenant that was just created, no hour is final. */
function byteHourTests(api: () => Api): void {
  describe('byte-hours', () => {
    const read = (query: string) => api().manage('GET', `/v1/usage${query}`);
    const hoursAgo = (hours: number) =>
      new Date(Date.now() - hours * 3_600_000).toISOString().replace(/:.*/, ':00:00Z');

    it('of hours that are over for two hours, and of no others', async () => {
      const { tenant } = await api().newPlace();
      const { usage } = bodyOf(await read(''), 200, usageShape);
      expect(usage.filter((record) => record.tenant === tenant)).toEqual([]);
      const later = await read(`?from=${hoursAgo(1)}&to=${hoursAgo(0)}`);
      expect(bodyOf(later, 200, usageShape)).toEqual({ usage: [], nextCursor: null });
    });

    it('as lines of JSON, and for a sheet', async () => {
      const lines = await read('?format=jsonl');
      expectStatus(lines, 200);
      expect(lines.headers['content-type']).toBe('application/jsonl');
      const sheet = await read('?format=csv');
      expectStatus(sheet, 200);
      expect(sheet.headers['content-type']).toBe('text/csv; charset=utf-8');
      expect(sheet.text).toMatch(/^id,tenant,hour,byteSeconds,peakBytes,storedBytes,reason,at\r\n/);
    });

    it.each([
      ['?from=2026-11-28', /start of an hour/],
      ['?from=2026-11-28T07:30:00Z', /start of an hour/],
      ['?from=2026-02-30T07:00:00Z', /start of an hour/],
      ['?from=2020-01-01T00:00:00Z', /360 days/],
      [`?from=${hoursAgo(4)}&to=${hoursAgo(5)}`, /before from/],
      ['?cursor=c00', /nextCursor/],
      ['?format=xml', /json, jsonl or csv/],
    ])('are refused: %s', async (query, why) => {
      expectProblem(await read(query), 422, why);
    });

    it('are corrected by a record of its own, once', async () => {
      const { tenant } = await api().newPlace();
      const correct = (body: object) =>
        api().manage('POST', `/v1/tenants/${tenant}/usage/corrections`, {
          hour: hoursAgo(10),
          byteSeconds: '-7200000',
          reason: 'Outage',
          ...body,
        });
      const name = hoursAgo(10).replace(':00:00', '');
      const record = usageShape.shape.usage.element;
      const made = bodyOf(await correct({}), 201, record);
      expect(made).toMatchObject({
        id: `${tenant}:${name}:c1`,
        tenant,
        hour: hoursAgo(10),
        byteSeconds: '-7200000',
      });
      expect(bodyOf(await correct({}), 200, record)).toEqual(made);
      expectProblem(await correct({ byteSeconds: '5' }), 409, /next number/);
      expectProblem(await correct({ hour: hoursAgo(1) }), 422, /final/);
      for (const byteSeconds of ['0', '-', '1.5', '1e9'])
        expectProblem(await correct({ byteSeconds }), 422, /byteSeconds/);
      expectStatus(await correct({ byteSeconds: '5', number: 2 }), 201);
    });
  });
}

/** What was stored on each day. */
function historyTests(api: () => Api): void {
  describe('the history', () => {
    const [small, large] = [objectOf(300), objectOf(5000)];
    let place: Place;
    const pathOf = (tenant: string, query = '') => `/v1/tenants/${tenant}/history${query}`;
    const read = async (query = '', tenant = place.tenant) => {
      return bodyOf(await api().manage('GET', pathOf(tenant, query)), 200, historyShape);
    };
    const refresh = () => subscriptionOf(api(), place.tenant, { query: '?refresh=true' });

    beforeAll(async () => {
      place = await api().newPlace({ limitBytes: 1000 });
    });

    it('of a new tenant is one day with nothing', async () => {
      const { days, forecast, limitBytes, from, to } = await read();
      expect(days).toMatchObject([
        {
          day: to,
          storedBytes: 0,
          maxStoredBytes: 0,
          maxUsedBytes: 0,
          limitBytes: 1000,
          refusals: 0,
          carried: true,
        },
      ]);
      expect(from < to).toBe(true);
      expect([forecast.reason, limitBytes]).toEqual(['too-few-days', 1000]);
    });

    it('has what was pushed, pulled and refused today', { timeout: waitTimeoutMs }, async () => {
      await push(api(), place, [small]);
      const body = { operation: 'download', objects: [pointer(small)] };
      objectsIn(await postBatch(api(), place, body, basic(place.readToken)));
      const refused = { operation: 'upload', objects: [pointer(large)] };
      const { token } = await api().newToken(place.tenant, { scope: 'write', user: 'ada' });
      const [told] = objectsIn(await postBatch(api(), place, refused, basic(token)));
      const { usage } = await refresh();
      expect(usage?.storedBytes).toBe(300);
      // Nobody waits for the write of a refusal.
      await expect.poll(async () => (await read()).days.at(-1)?.refusals, { timeout: 60_000 }).toBe(1);
      const { days, to } = await read();
      expect(days.at(-1)).toEqual({
        day: to,
        storedBytes: 300,
        objectCount: 1,
        maxStoredBytes: 300,
        maxUsedBytes: 300,
        limitBytes: 1000,
        refusals: 1,
        repoRefusals: 0,
        downloads: serves('downloads') ? { bytes: 300, objects: 1 } : { bytes: 0, objects: 0 },
        carried: false,
      });
      // The same number as git shows.
      expect(told?.error?.message).toContain(' 3.91 KiB short.');
      const { lastRefusals } = await read();
      expect(lastRefusals).toEqual([
        {
          at: expect.any(String),
          repo: 'game',
          user: 'ada',
          files: 1,
          atLeast: false,
          bytes: 5000,
          shortBytes: 4000,
          limit: 'tenant',
        },
      ]);
      expect((await subscriptionOf(api(), place.tenant)).lastRefusals).toEqual(lastRefusals);
      expect((await read(`?from=${to}&to=${to}`)).days).toEqual(days.slice(-1));
      expect((await read('?to=2020-01-01')).days).toEqual([]);
      expect((await read('?from=0001-01-01&to=9999-12-31')).to).toBe(to);
    });

    it('counts what the limit of a repo refused apart from what the tenant’s did', async () => {
      const at = await api().newPlace();
      const repo = { repo: at.repo, limitBytes: 100 };
      expectStatus(await api().manage('POST', `/v1/tenants/${at.tenant}/repos`, repo), 201);
      await postBatch(api(), at, { operation: 'upload', objects: [pointer(objectOf(101))] });
      const today = async () => (await read('', at.tenant)).days.at(-1);
      await expect.poll(async () => (await today())?.repoRefusals, { timeout: 60_000 }).toBe(1);
      expect(await read('', at.tenant)).toMatchObject({
        days: [{ refusals: 0 }],
        lastRefusals: [{ repo: 'game', limit: 'repo', shortBytes: 1 }],
      });
    });

    it('has the forecast that the subscription has', async () => {
      const { forecast } = await subscriptionOf(api(), place.tenant);
      expect((await read()).forecast).toEqual(forecast);
      const limit = (limitBytes: number | null) =>
        api().manage('PATCH', `/v1/tenants/${place.tenant}`, { limitBytes });
      await limit(300);
      const { forecast: full, to } = await read();
      expect(full).toEqual({ fullOn: to, reason: null, bytesPerDay: null });
      await limit(null);
      expect((await read()).forecast).toEqual({ fullOn: null, reason: 'unlimited', bytesPerDay: null });
    });

    it('of a new tenant is known to be nothing', async () => {
      const { tenant } = await api().newTenant({ limitBytes: 1000 });
      expect(await subscriptionOf(api(), tenant)).toMatchObject({
        forecast: { fullOn: null, reason: 'too-few-days', bytesPerDay: null },
        lastRefusals: [],
      });
    });

    it('shows what a repo stored in each week, in a list if that is asked for', async () => {
      const at = { ...(await api().newTenant({ limitBytes: 10_000 })), repo: 'game' };
      const repos = `/v1/tenants/${at.tenant}/repos`;
      await push(api(), at, [objectOf(300)]);
      expectStatus(await api().manage('POST', repos, { repo: 'empty' }), 201);
      const weeksOf = async (path: string) =>
        repoShape.parse(jsonOf(await api().manage('GET', `${repos}/${path}`))).weeks;
      expect(await weeksOf('empty')).toEqual(Array(57).fill(null));
      await subscriptionOf(api(), at.tenant, { query: '?refresh=true' });
      const thisWeek = (count: number) => [...Array(count - 1).fill(null), 300];
      expect(await weeksOf('game')).toEqual(thisWeek(57));
      const listed = async (query: string) => {
        const { repos: found } = jsonOf(await api().manage('GET', repos + query)) as {
          repos: { repo: string; weeks?: unknown }[];
        };
        return Object.fromEntries(found.map(({ repo, weeks }) => [repo, weeks]));
      };
      expect((await listed('?weeks=true'))['game']).toEqual(thisWeek(13));
      expect(Object.keys(await listed('?weeks=true'))).toEqual(['empty', 'game']);
      for (const query of ['', '?weeks=false'])
        expect(await listed(query)).toEqual({ empty: undefined, game: undefined });
      expectProblem(await api().manage('GET', `${repos}?weeks=13`), 422);
      // A token for another repo learns nothing of this one.
      const { token } = await api().newToken(at.tenant, { scope: 'read', repos: ['empty'] });
      expectProblem(await api().as(bearer(token), 'GET', `${repos}/game`), 404);
      const seen = jsonOf(await api().as(bearer(token), 'GET', `${repos}?weeks=true`));
      expect(JSON.stringify(seen)).not.toContain('300');
    });

    it.each(['from=2026-13-01', 'from=2026-02-30', 'to=yesterday', 'from=', 'days=5'])(
      'is not read by %s',
      async (query) => {
        expectProblem(await api().manage('GET', pathOf(place.tenant, `?${query}`)), 422);
      },
    );
  });
}

/** All that the suite asks of this subject. */
export const historySubject: Subject = {
  callers: {
    'GET /v1/tenants/{tenant}/history': 'reader',
    'GET /v1/usage': 'operator',
    'POST /v1/tenants/{tenant}/usage/corrections': 'operator',
  },
  tests: (api) => {
    historyTests(api);
    byteHourTests(api);
  },
};
