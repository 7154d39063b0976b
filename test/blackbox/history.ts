import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, jsonOf } from './api.ts';
import { expectProblem } from './errors.ts';
import { objectOf, objectsIn, type Place, pointer, postBatch, push } from './lfs.ts';
import { forecastShape, lastRefusalsShape, subscriptionOf } from './subscription.ts';

/** A recount may have to wait for the one before. */
const waitTimeoutMs = 120_000;

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
      refusals: z.number(),
      downloads: z.strictObject({ bytes: z.number(), objects: z.number() }).nullable(),
      carried: z.boolean(),
    }),
  ),
  forecast: forecastShape,
  lastRefusals: lastRefusalsShape,
});

/** What was stored on each day. */
export function historyTests(api: () => Api): void {
  describe('the history', () => {
    const [small, large] = [objectOf(300), objectOf(5000)];
    let place: Place;
    const pathOf = (tenant: string, query = '') => `/v1/tenants/${tenant}/history${query}`;
    const read = async (query = '', tenant = place.tenant) => {
      const answer = await api().manage('GET', pathOf(tenant, query));
      expect(answer.status, answer.text).toBe(200);
      return historyShape.parse(jsonOf(answer));
    };
    const refresh = () => subscriptionOf(api(), place.tenant, { query: '?refresh=true' });

    beforeAll(async () => {
      place = { ...(await api().newTenant({ limitBytes: 1000 })), repo: 'game' };
    });

    it('of a new tenant is one day with nothing', async () => {
      const { days, forecast, limitBytes, from, to } = await read();
      expect(days).toMatchObject([
        { day: to, storedBytes: 0, maxStoredBytes: 0, refusals: 0, carried: true },
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
        refusals: 1,
        downloads: { bytes: 300, objects: 1 },
        carried: false,
      });
      // With the same number as git shows.
      const { lastRefusals } = await read();
      const [, shortBytes] = (/needs .*?\((\d+) bytes\) more/.exec(told?.error?.message ?? '') ?? []).map(
        Number,
      );
      expect(lastRefusals).toEqual([
        {
          at: expect.any(String),
          repo: 'game',
          user: 'ada',
          files: 1,
          bytes: 5000,
          shortBytes,
          limit: 'tenant',
        },
      ]);
      expect((await subscriptionOf(api(), place.tenant)).lastRefusals).toEqual(lastRefusals);
      expect((await read(`?from=${to}&to=${to}`)).days).toEqual(days.slice(-1));
      expect((await read('?to=2020-01-01')).days).toEqual([]);
      expect((await read('?from=0001-01-01&to=9999-12-31')).to).toBe(to);
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

    it.each(['from=2026-13-01', 'from=2026-02-30', 'to=yesterday', 'from=', 'days=5'])(
      'is not read by %s',
      async (query) => {
        expectProblem(await api().manage('GET', pathOf(place.tenant, `?${query}`)), 422);
      },
    );
  });
}
