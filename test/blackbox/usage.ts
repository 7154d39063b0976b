import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, bearer, jsonOf } from './api.ts';
import type { Answer } from './exchange.ts';
import { objectOf, type Place, push } from './lfs.ts';

const instant = z.iso.datetime();

const subscription = z.strictObject({
  tenant: z.string(),
  plan: z.string().nullable(),
  limitBytes: z.number().nullable(),
  usage: z
    .strictObject({
      storedBytes: z.number(),
      objectCount: z.number(),
      reservedBytes: z.number(),
      committedBytes: z.number(),
      countedAt: instant,
      source: z.enum(['cache', 'scan']),
    })
    .nullable(),
  repos: z.array(
    z.strictObject({
      repo: z.string(),
      storedBytes: z.number(),
      objectCount: z.number(),
      countedAt: instant,
    }),
  ),
  refreshing: z.boolean(),
});

export type SubscriptionAnswer = z.output<typeof subscription>;

const countedWithinDefaultMs = 30_000;

export function subscriptionIn(answer: Answer, status = 200): SubscriptionAnswer {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json');
  return subscription.parse(jsonOf(answer));
}

export async function subscriptionOf(
  api: Api,
  tenant: string,
  more: { query?: string; headers?: Record<string, string> } = {},
): Promise<SubscriptionAnswer> {
  const path = `/v1/tenants/${tenant}/subscription${more.query ?? ''}`;
  const headers = more.headers ?? bearer(api.target.adminToken);
  return subscriptionIn(await api.send({ method: 'GET', path, headers }));
}

/** Usage as it is counted of what was pushed, cached, and counted again. */
export function usageTests(api: () => Api): void {
  const countedWithinMs = () => api().target.countedWithinMs ?? countedWithinDefaultMs;

  describe('usage', () => {
    const game = [objectOf(1), objectOf(100_000), objectOf(0), objectOf(12_345)];
    const art = [objectOf(777)];
    const expected = { storedBytes: 1 + 100_000 + 12_345 + 777, objectCount: 5 };
    const limitBytes = 1_000_000;
    let place: Place;

    beforeAll(async () => {
      place = { ...(await api().newTenant({ limitBytes, plan: 'small' })), repo: 'game' };
    });

    it('of a new tenant is nothing, which is known and not guessed', async () => {
      const { usage, ...rest } = await subscriptionOf(api(), place.tenant);
      expect(rest).toEqual({
        ...{ tenant: place.tenant, plan: 'small', limitBytes, repos: [], refreshing: false },
      });
      expect(usage).toMatchObject({ storedBytes: 0, objectCount: 0, reservedBytes: 0, committedBytes: 0 });
    });

    it('is what was pushed, to the byte and object, soon after the last verify', async () => {
      await push(api(), place, game);
      await push(api(), { ...place, repo: 'art.git' }, art);
      // What may arrive counts at once; what has arrived, once it is counted.
      expect((await subscriptionOf(api(), place.tenant)).usage?.committedBytes).toBe(expected.storedBytes);
      const giveUpAtMs = performance.now() + countedWithinMs();
      let found = await subscriptionOf(api(), place.tenant);
      while (found.usage?.objectCount !== expected.objectCount && performance.now() < giveUpAtMs) {
        await sleep(250);
        found = await subscriptionOf(api(), place.tenant);
      }
      expect(found.usage).toMatchObject({
        ...expected,
        reservedBytes: 0,
        committedBytes: expected.storedBytes,
        source: 'cache',
      });
      expect(found.repos.map(({ countedAt: _, ...repo }) => repo).sort(byRepo)).toEqual([
        { repo: 'art', storedBytes: 777, objectCount: 1 },
        { repo: 'game', storedBytes: 1 + 100_000 + 12_345, objectCount: 4 },
      ]);
      const repos = await api().manage('GET', `/v1/tenants/${place.tenant}/repos`);
      expect(jsonOf(repos)).toEqual({ repos: found.repos });
    });

    it('is counted anew for the operator who asks for it', async () => {
      const before = await subscriptionOf(api(), place.tenant);
      await sleep(1100);
      const [found, listed] = await listing(() =>
        subscriptionOf(api(), place.tenant, { query: '?refresh=true' }),
      );
      expect(found).toMatchObject({ usage: { ...expected, source: 'scan' }, refreshing: false });
      expect(Date.parse(found.usage?.countedAt ?? '')).toBeGreaterThan(
        Date.parse(before.usage?.countedAt ?? ''),
      );
      if (listed !== undefined) expect(listed).toBeGreaterThan(0);
    });

    it('is read from the cache by everybody else, without a LIST', async () => {
      const operator = bearer(api().target.adminToken);
      const tokens = [place.readToken, place.writeToken].map((token) => basic(token));
      for (const more of [
        { headers: operator },
        { headers: operator, query: '?refresh=false' },
        { headers: operator, query: '?refresh=1' },
        ...tokens.map((headers) => ({ headers })),
        ...tokens.map((headers) => ({ headers, query: '?refresh=true' })),
      ]) {
        const read = () => listing(() => subscriptionOf(api(), place.tenant, more));
        const reads = [await read(), await read(), await read()];
        for (const [found] of reads) {
          expect(found).toMatchObject({ usage: { ...expected, source: 'cache' }, refreshing: false });
        }
        // A recount in the background may fall into one of them; a read that lists, lists each time.
        expect(Math.min(...reads.map(([, listed]) => listed ?? 0))).toBe(0);
      }
    });

    it('is scanned once for many who ask at once', async () => {
      const all = await Promise.all(
        Array.from({ length: 10 }, () => subscriptionOf(api(), place.tenant, { query: '?refresh=true' })),
      );
      for (const found of all) expect(found.usage).toMatchObject({ ...expected, source: 'scan' });
    });

    /** What it returns, and how many LIST requests for this tenant came meanwhile, where somebody counts. */
    async function listing<T>(work: () => Promise<T>): Promise<[T, number | undefined]> {
      const { listRequests } = api().target;
      const before = listRequests?.(place.tenant) ?? 0;
      const result = await work();
      return [result, listRequests && listRequests(place.tenant) - before];
    }
  });
}

const byRepo = (one: { repo: string }, other: { repo: string }) => (one.repo < other.repo ? -1 : 1);
