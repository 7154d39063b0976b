import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { type Api, basic, bearer, jsonOf } from './api.ts';
import { expectProblem } from './errors.ts';
import { objectOf, type Place, push } from './lfs.ts';
import { subscriptionOf } from './subscription.ts';

const countedWithinDefaultMs = 30_000;

/** Of the test that waits for the count, which then says itself what is wrong with it. */
const waitTimeoutMs = 240_000;

/**
 * Usage as it is counted of what was pushed, cached, and counted again. In two parts, so that other tests can
 * run while the count is awaited.
 */
export function usageTests(api: () => Api): { beforeCount: () => void; onceCounted: () => void } {
  const game = [objectOf(1), objectOf(100_000), objectOf(0), objectOf(12_345)];
  const art = [objectOf(777)];
  const expected = { storedBytes: 1 + 100_000 + 12_345 + 777, objectCount: 5 };
  const limitBytes = 1_000_000;
  let place: Place;
  let verifiedAtMs: number;
  let requestsOfOneScan: number | undefined;

  const beforeCount = () => {
    beforeAll(async () => {
      place = { ...(await api().newTenant({ limitBytes, plan: 'small' })), repo: 'game' };
    });

    it('of a new tenant is nothing, which is known and not guessed', async () => {
      const { usage, ...rest } = await subscriptionOf(api(), place.tenant);
      expect(rest).toEqual({
        tenant: place.tenant,
        plan: 'small',
        limitBytes,
        downloadLimitBytes: null,
        reposMustExist: false,
        forecast: { fullOn: null, reason: 'too-few-days', bytesPerDay: null },
        lastRefusals: [],
        repos: [],
        refreshing: false,
      });
      expect(usage).toMatchObject({ storedBytes: 0, objectCount: 0, reservedBytes: 0, committedBytes: 0 });
    });

    it('holds what may arrive, before it is counted', async () => {
      await push(api(), place, game);
      await push(api(), { ...place, repo: 'art.git' }, art);
      verifiedAtMs = Date.now();
      const { usage } = await subscriptionOf(api(), place.tenant);
      expect(usage?.committedBytes).toBe(expected.storedBytes);
      expect(usage?.reservedBytes).toBe(expected.storedBytes - (usage?.storedBytes ?? 0));
    });
  };

  const onceCounted = () => {
    it('is what was pushed, to the byte and object, soon after the last verify', {
      timeout: waitTimeoutMs,
    }, async () => {
      const countedWithinMs = api().target.countedWithinMs ?? countedWithinDefaultMs;
      let found = await subscriptionOf(api(), place.tenant);
      // The counter may be too high for one recount more: a batch added to it between the scan and the commit.
      const isCounted = ({ usage }: typeof found) =>
        usage?.objectCount === expected.objectCount && usage.committedBytes === expected.storedBytes;
      while (!isCounted(found) && Date.now() < verifiedAtMs + countedWithinMs) {
        await sleep(250);
        found = await subscriptionOf(api(), place.tenant);
      }
      const { storedBytes } = expected;
      const reserved = { reservedBytes: 0, reservedUntil: null };
      const counted = { ...expected, ...reserved, committedBytes: storedBytes, source: 'cache' };
      expect(found.usage).toMatchObject(counted);
      // However late it was asked for.
      expect(Date.parse(found.usage?.countedAt ?? '')).toBeLessThan(verifiedAtMs + countedWithinMs);
      expect(found.repos.map(({ countedAt: _, ...repo }) => repo).sort(byRepo)).toEqual([
        { repo: 'art', limitBytes: null, storedBytes: 777, objectCount: 1 },
        { repo: 'game', limitBytes: null, storedBytes: 1 + 100_000 + 12_345, objectCount: 4 },
      ]);
      const repos = await api().manage('GET', `/v1/tenants/${place.tenant}/repos`);
      expect(jsonOf(repos)).toEqual({ repos: found.repos, nextCursor: null });
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
      requestsOfOneScan = listed;
    });

    it('takes no value of refresh that it does not know', async () => {
      const { tenant } = await api().newTenant();
      for (const query of ['refresh=1', 'refresh=', 'refresh=true&refresh=true', 'fresh=true']) {
        const answer = await api().manage('GET', `/v1/tenants/${tenant}/subscription?${query}`);
        expectProblem(answer, 422, /fresh/);
      }
    });

    it('is read from the cache by everybody else, without a LIST', async () => {
      const operator = bearer(api().target.adminToken);
      const tokens = [place.readToken, place.writeToken].map((token) => basic(token));
      for (const more of [
        { headers: operator },
        { headers: operator, query: '?refresh=false' },
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

    it('is scanned by fewer than ask at once', async () => {
      const readers = 10;
      const [all, listed] = await listing(() =>
        Promise.all(
          Array.from({ length: readers }, () =>
            subscriptionOf(api(), place.tenant, { query: '?refresh=true' }),
          ),
        ),
      );
      for (const found of all) expect(found.usage).toMatchObject({ ...expected, source: 'scan' });
      if (listed !== undefined && requestsOfOneScan !== undefined) {
        expect(listed).toBeLessThan(readers * requestsOfOneScan);
      }
    });

    /** What it returns, and how many LIST requests for this tenant came meanwhile, where somebody counts. */
    async function listing<T>(work: () => Promise<T>): Promise<[T, number | undefined]> {
      const { listRequests } = api().target;
      const before = listRequests?.(place.tenant) ?? 0;
      const result = await work();
      return [result, listRequests && listRequests(place.tenant) - before];
    }
  };

  return { beforeCount, onceCounted };
}

const byRepo = (one: { repo: string }, other: { repo: string }) => (one.repo < other.repo ? -1 : 1);
