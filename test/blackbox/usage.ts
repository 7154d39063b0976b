import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Api, basic, bearer, bodyOf, expectProblem, expectStatus, jsonOf, once } from './api.ts';
import { newOid, objectOf, type Place, push } from './lfs.ts';
import { scannedWithinDefaultMs, subscriptionOf } from './subscription.ts';

/** Of the test that waits for the count, which then says itself what is wrong with it. */
const waitTimeoutMs = 240_000;

/**
 * Usage as it is counted of what was pushed, cached, and counted again. In two parts, so that other tests can
 * run while the count is awaited.
 */
export function usageTests(api: () => Api): { beforeCount: () => void; onceScanned: () => void } {
  const game = [objectOf(1), objectOf(100_000), objectOf(0), objectOf(12_345)];
  const art = [objectOf(777)];
  const expected = { storedBytes: 1 + 100_000 + 12_345 + 777, objectCount: 5 };
  const limitBytes = 1_000_000;
  const pushed = once(async () => {
    const place = await api().newPlace({ limitBytes, plan: 'small' });
    expectStatus(await api().manage('GET', `/v1/tenants/${place.tenant}/subscription`), 200);
    const ofNew = await subscriptionOf(api(), place.tenant);
    await push(api(), place, game);
    await push(api(), { ...place, repo: 'art.git' }, art);
    const verifiedAtMs = Date.now();
    return { place, ofNew, verifiedAtMs, before: await subscriptionOf(api(), place.tenant) };
  });
  const scanned = once(async () => {
    const { place, verifiedAtMs } = await pushed();
    const untilMs = verifiedAtMs + (api().target.scannedWithinMs ?? scannedWithinDefaultMs);
    let found = await subscriptionOf(api(), place.tenant);
    // The counter may be too high for one reconcile more: a batch added to it between the scan and the commit.
    const isScanned = ({ usage }: typeof found) =>
      usage?.objectCount === expected.objectCount && usage.committedBytes === expected.storedBytes;
    while (!isScanned(found) && Date.now() < untilMs) {
      await sleep(250);
      found = await subscriptionOf(api(), place.tenant);
    }
    const repos = jsonOf(await api().manage('GET', `/v1/tenants/${place.tenant}/repos`));
    return { place, found, untilMs, repos };
  });

  const beforeCount = () => {
    it('of a new tenant is nothing, which is known and not guessed', async () => {
      const { place, ofNew } = await pushed();
      // What those add who know past days, their tests look at.
      const { usage, forecast: _, lastRefusals: __, ...rest } = ofNew;
      expect(rest).toEqual({
        tenant: place.tenant,
        plan: 'small',
        limitBytes,
        downloadLimitBytes: null,
        reposMustExist: false,
        repos: [],
        refreshing: false,
      });
      expect(usage).toMatchObject({ storedBytes: 0, objectCount: 0, reservedBytes: 0, committedBytes: 0 });
    });

    it('holds what may arrive, before it is counted', async () => {
      const { usage } = (await pushed()).before;
      expect(usage?.committedBytes).toBe(expected.storedBytes);
      expect(usage?.reservedBytes).toBe(expected.storedBytes - (usage?.storedBytes ?? 0));
    });
  };

  const onceScanned = () => {
    it('is what was pushed, to the byte and object, soon after the last verify', {
      timeout: waitTimeoutMs,
    }, async () => {
      const { found, untilMs, repos } = await scanned();
      const { storedBytes } = expected;
      const reserved = { reservedBytes: 0, reservedUntil: null };
      expect(found.usage).toMatchObject({
        ...expected,
        ...reserved,
        committedBytes: storedBytes,
        source: 'cache',
      });
      // However late it was asked for, also on the next day.
      expect(Date.parse(found.usage?.scannedAt ?? '')).toBeLessThan(untilMs);
      expect(found.repos.map(({ scannedAt: _, before: __, ...repo }) => repo).sort(byRepo)).toEqual([
        { repo: 'art', limitBytes: null, storedBytes: 777, objectCount: 1 },
        { repo: 'game', limitBytes: null, storedBytes: 1 + 100_000 + 12_345, objectCount: 4 },
      ]);
      expect(repos).toEqual({ repos: found.repos, nextCursor: null });
    });

    it('is counted anew for the operator who asks for it', async () => {
      const { place } = await scanned();
      const before = await subscriptionOf(api(), place.tenant);
      await sleep(1100);
      const [found, listed] = await listing(place, () =>
        subscriptionOf(api(), place.tenant, { query: '?refresh=true' }),
      );
      expect(found).toMatchObject({ usage: { ...expected, source: 'scan' }, refreshing: false });
      expect(Date.parse(found.usage?.scannedAt ?? '')).toBeGreaterThan(
        Date.parse(before.usage?.scannedAt ?? ''),
      );
      if (listed !== undefined) expect(listed).toBeGreaterThan(0);
    });

    it('takes no value of refresh that it does not know', async () => {
      const { tenant } = await api().newTenant();
      for (const query of ['refresh=1', 'refresh=', 'refresh=true&refresh=true', 'fresh=true']) {
        const answer = await api().manage('GET', `/v1/tenants/${tenant}/subscription?${query}`);
        expectProblem(answer, 422, /fresh/);
      }
    });

    it('is read from the cache by everybody else, without a LIST', async () => {
      const { place } = await scanned();
      const operator = bearer(api().target.adminToken);
      const tokens = [place.readToken, place.writeToken].map((token) => basic(token));
      for (const more of [
        { headers: operator },
        { headers: operator, query: '?refresh=false' },
        ...tokens.map((headers) => ({ headers })),
        ...tokens.map((headers) => ({ headers, query: '?refresh=true' })),
      ]) {
        const read = () => listing(place, () => subscriptionOf(api(), place.tenant, more));
        const reads = [await read(), await read(), await read()];
        for (const [found] of reads) {
          expect(found).toMatchObject({ usage: { ...expected, source: 'cache' }, refreshing: false });
        }
        // A reconcile in the background may fall into one of them; a read that lists, lists each time.
        expect(Math.min(...reads.map(([, listed]) => listed ?? 0))).toBe(0);
      }
    });

    it('is scanned by fewer than ask at once', async () => {
      const { place } = await scanned();
      const readers = 10;
      const one = () => subscriptionOf(api(), place.tenant, { query: '?refresh=true' });
      const [, requestsOfOneScan] = await listing(place, one);
      const [all, listed] = await listing(place, () => Promise.all(Array.from({ length: readers }, one)));
      for (const found of all) expect(found.usage).toMatchObject({ ...expected, source: 'scan' });
      if (listed !== undefined && requestsOfOneScan !== undefined) {
        expect(listed).toBeLessThan(readers * requestsOfOneScan);
      }
    });

    /** What it returns, and how many LIST requests for this tenant came meanwhile, where somebody counts. */
    async function listing<T>(place: Place, work: () => Promise<T>): Promise<[T, number | undefined]> {
      const { listRequests } = api().target;
      const before = listRequests?.(place.tenant) ?? 0;
      const result = await work();
      return [result, listRequests && listRequests(place.tenant) - before];
    }
  };

  return { beforeCount, onceScanned };
}

const byRepo = (one: { repo: string }, other: { repo: string }) => (one.repo < other.repo ? -1 : 1);

const scanShape = z.strictObject({
  repo: z.string(),
  kind: z.enum(['initial', 'requested', 'rolling']),
  state: z.enum(['running', 'paused']),
  progress: z
    .strictObject({
      share: z.number(),
      objectCount: z.number(),
      listRequests: z.number(),
      objectsPerSecond: z.number().nullable(),
      secondsLeft: z.number().nullable(),
      beganAt: z.iso.datetime(),
      updatedAt: z.iso.datetime(),
    })
    .nullable(),
});
const scanPage = z.strictObject({ scans: z.array(scanShape), nextCursor: z.string().nullable() });

type Count = z.output<typeof scanShape>;

const waitMs = 120_000;
const putsAtOnce = 16;

/** How the count of a large repo is shown, paused, given up, asked for again and resumed. */
export function scanTests(api: () => Api): void {
  const repo = 'footage';
  let tenant: string;
  let objectCount: number;

  const path = (of = repo) => `/v1/tenants/${tenant}/repos/${of}/scan`;
  const change = (state: string, of = repo) => api().manage('PATCH', path(of), { state });
  const changed = async (state: string): Promise<Count> => {
    return bodyOf(await change(state), 200, scanShape);
  };
  const counts = async (): Promise<readonly Count[]> => {
    return bodyOf(await api().manage('GET', `/v1/tenants/${tenant}/scans`), 200, scanPage).scans;
  };
  const reconcile = async () => {
    expectStatus(await api().manage('POST', `/v1/tenants/${tenant}/reconcile`), 202);
  };
  /** Waits until the count of the repo is as expected. */
  const untilScan = async (isExpected: (count: Count | undefined) => boolean): Promise<Count> => {
    for (const endMs = Date.now() + waitMs; ; await sleep(250)) {
      const [count] = await counts();
      if (count && isExpected(count)) return count;
      if (Date.now() > endMs) throw new Error(`The count is ${JSON.stringify(count)}.`);
    }
  };
  const untilObjects = async (expected: number) => {
    for (const endMs = Date.now() + waitMs; ; await sleep(250)) {
      const { usage } = await subscriptionOf(api(), tenant);
      if (usage?.objectCount === expected) return;
      if (Date.now() > endMs) throw new Error(`The usage is ${JSON.stringify(usage)}.`);
    }
  };
  const put = () => {
    const { putObject } = api().target;
    if (!putObject) throw new Error('Nobody can put objects around the API.');
    return putObject(`${tenant}/${repo}/${newOid()}`, Buffer.from('7 bytes'));
  };
  const isSkipped = () => api().target.largeRepoObjects === undefined || api().target.putObject === undefined;

  describe('the count of a large repo', () => {
    beforeAll(async () => {
      ({ tenant } = await api().newTenant());
      objectCount = api().target.largeRepoObjects ?? 0;
    });

    it('is refused for a repo that is none', async () => {
      expectProblem(await change('paused', 'other'), 404);
      expectProblem(await change('paused', '..'), 404);
      expectProblem(await change('ended'), 422);
      expect(await counts()).toEqual([]);
    });

    it('begins once it has many objects, and ends', { timeout: 4 * waitMs }, async ({ skip }) => {
      if (isSkipped()) return skip();
      let left = objectCount;
      const worker = async () => {
        while (left > 0) {
          left -= 1;
          await put();
        }
      };
      await Promise.all(Array.from({ length: putsAtOnce }, worker));
      await reconcile();
      await untilObjects(objectCount);
      await reconcile();
      const count = await untilScan((found) => found?.kind === 'rolling');
      expect(count).toEqual({ repo, kind: 'rolling', state: 'running', progress: null });
      await untilObjects(objectCount);
    });

    it('can be given up while it is paused, and usage stays', { timeout: 4 * waitMs }, async ({ skip }) => {
      if (isSkipped()) return skip();
      expect(await changed('paused')).toMatchObject({ state: 'paused', progress: null });
      await put();
      await reconcile();
      const paused = await untilScan((found) => found?.kind === 'requested');
      expect(paused).toMatchObject({
        state: 'paused',
        progress: { share: 0, objectCount: 0, listRequests: 0, secondsLeft: null },
      });
      expect(await changed('cancelled')).toEqual({ repo, kind: 'rolling', state: 'paused', progress: null });
      await untilObjects(objectCount);
    });

    it('is overtaken by another, and counts all when it is resumed', { timeout: 4 * waitMs }, async ({
      skip,
    }) => {
      if (isSkipped()) return skip();
      await reconcile();
      const first = await untilScan((found) => found?.kind === 'requested');
      await changed('cancelled');
      await sleep(1100);
      await reconcile();
      const second = await untilScan((found) => found?.kind === 'requested');
      expect(Date.parse(second.progress?.beganAt ?? '')).toBeGreaterThan(
        Date.parse(first.progress?.beganAt ?? ''),
      );
      expect(await changed('running')).toMatchObject({ state: 'running' });
      await untilScan((found) => found?.kind === 'rolling');
      await untilObjects(objectCount + 1);
    });
  });
}
