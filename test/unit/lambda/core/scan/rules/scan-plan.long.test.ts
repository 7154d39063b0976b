import { describe, expect, it } from 'vitest';
import { createPathScan } from '../../../../../../lambda/core/scan/path-scan.ts';
import type { PathScanInput } from '../../../../../../lambda/core/scan/rules/scan-plan.ts';
import { hashNames, RoundListing } from '../../../../../support/round-listing.ts';

/** Requests and rounds of one scan of `count` hashes. Every page takes one round. */
async function costOf(count: number, seed: number, input: Omit<PathScanInput, 'prefix'>) {
  const listing = new RoundListing(
    hashNames(count, seed).map((name) => ({ key: `t/r/${name}`, sizeBytes: 3 })),
  );
  const settings = { scanConcurrency: 128 };
  const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings });
  const outcome = await listing.serve(scan.scan({ prefix: 't/r/', ...input }));
  expect(outcome).toMatchObject({ kind: 'done', objectCount: count, storedBytes: 3 * count });
  return { requests: outcome.requests, rounds: listing.rounds };
}

/** The mean over several sets of hashes. */
async function meanCostOf(count: number, input: Omit<PathScanInput, 'prefix'>, seeds = 6) {
  let requests = 0;
  let rounds = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const cost = await costOf(count, seed * 1009 + count, input);
    requests += cost.requests / seeds;
    rounds += cost.rounds / seeds;
  }
  return { requests, rounds };
}

describe('with a hint', () => {
  it.each([0, 1, 999, 1000])('a scan of %i keys takes one request', async (count) => {
    expect(await costOf(count, 1, { hintObjects: count })).toEqual({ requests: 1, rounds: 1 });
  });

  it.each([1001, 2000, 4000, 9100, 14_000, 17_000])(
    'a scan of %i keys takes at most two requests more than pages',
    async (count) => {
      const { requests, rounds } = await meanCostOf(count, { hintObjects: count });
      expect(requests).toBeLessThanOrEqual(Math.ceil(count / 1000) + 2);
      expect(rounds).toBeLessThan(1.5);
    },
  );

  it('a scan of 100,000 keys takes at most 6 % more requests than pages, in two to three rounds', async () => {
    const { requests, rounds } = await meanCostOf(100_000, { hintObjects: 100_000 }, 3);
    expect(requests).toBeLessThanOrEqual(107);
    expect(rounds).toBeLessThanOrEqual(3);
  });

  it.each([
    [20_000, 5_000],
    [5_000, 20_000],
    [20_000, 0],
    [0, 1_000_000],
  ])(
    'a scan of %i keys that expects %i takes at most 128 requests too many, plus half of its pages',
    async (count, hint) => {
      const { requests } = await costOf(count, 5, { hintObjects: hint });
      expect(requests).toBeLessThanOrEqual(Math.ceil(count / 1000) * 1.5 + 128);
    },
  );
});

describe('without a hint', () => {
  it.each([0, 1, 1000])('probing %i keys takes one request', async (count) => {
    expect(await costOf(count, 1, {})).toEqual({ requests: 1, rounds: 1 });
  });

  it.each([1001, 2000, 4000, 9000, 14_000, 17_000])(
    'probing %i keys takes at most three requests more than pages',
    async (n) => {
      const { requests, rounds } = await meanCostOf(n, {});
      expect(requests).toBeLessThanOrEqual(Math.ceil(n / 1000) + 3);
      expect(rounds).toBeLessThan(2.5);
    },
  );

  it('probing 100,000 keys takes at most 12 % more requests than pages', async () => {
    expect((await meanCostOf(100_000, {}, 2)).requests).toBeLessThanOrEqual(112);
  });

  it.each([0, 100, 12_000, 14_000])('sixteen at once list %i keys in one round', async (count) => {
    expect(await costOf(count, 1, { isAwaited: true })).toEqual({ requests: 16, rounds: 1 });
  });

  it.each([16_000, 20_000, 30_000, 46_000, 60_000, 75_000])(
    'sixteen at once list %i keys in two rounds',
    async (count) => {
      const { requests, rounds } = await meanCostOf(count, { isAwaited: true }, 3);
      expect(requests).toBeLessThanOrEqual(Math.ceil(count / 1000) + 20);
      expect(rounds).toBeLessThan(2.5);
    },
  );
});

describe('keys that are not spread evenly', () => {
  const skewed = (names: string[]) => names.map((name) => ({ key: `t/r/${name}`, sizeBytes: 3 }));
  const scanOf = async (names: string[]) => {
    const listing = new RoundListing(skewed(names));
    const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings: { scanConcurrency: 128 } });
    const outcome = await listing.serve(scan.scan({ prefix: 't/r/' }));
    expect(outcome).toMatchObject({ kind: 'done', objectCount: names.length });
    return outcome.requests;
  };

  it('cost at most 1.3 times their pages if all begin with the same digit', async () => {
    expect(await scanOf(hashNames(30_000, 3).map((name) => `a${name.slice(1)}`))).toBeLessThanOrEqual(39);
  });

  it('cost one additional request if names do not differ in position', async () => {
    const names = Array.from({ length: 5500 }, (_, index) => `photo-${String(index).padStart(8, '0')}.jpg`);
    expect(await scanOf(names)).toBeLessThanOrEqual(7);
  });

  it('cost one additional request if they are numbered in a folder', async () => {
    const names = Array.from({ length: 5500 }, (_, index) => `photos/${String(index).padStart(8, '0')}.jpg`);
    expect(await scanOf(names)).toBeLessThanOrEqual(7);
  });

  it('in folders below the path are cut as if they were directly below it', async () => {
    const inOne = hashNames(20_000, 6).map((name) => `app/${name}`);
    expect(await scanOf(inOne)).toBeLessThanOrEqual(27);
    const inTwo = hashNames(20_000, 7).map((name, index) => `${index % 2 ? 'app' : 'web/objects'}/${name}`);
    expect(await scanOf(inTwo)).toBeLessThanOrEqual(30);
  });

  it('cost a bounded number of requests if they are in a few dense spots', async () => {
    const spots = ['0000000', '4444444', '8888888', 'fffffff'];
    const names = hashNames(20_000, 4).map((name, index) => spots[index % 4] + name.slice(7));
    expect(await scanOf(names)).toBeLessThanOrEqual(30);
  });
});
