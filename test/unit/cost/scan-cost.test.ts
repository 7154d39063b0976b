import { describe, expect, it } from 'vitest';
import {
  defaultGiantScan,
  type GiantScan,
  giantScanCost,
  queuedDollars,
  rollingIn,
  rollingWithin,
  shardsOf,
} from '../../../cost/scan-cost.ts';
import { createPathScan } from '../../../lambda/use-cases/scan/path-scan.ts';
import { hashNames, RoundListing } from '../../support/round-listing.ts';

const of = (more: Partial<GiantScan>): GiantScan => ({
  ...defaultGiantScan,
  objects: 1e9,
  cpuSecondsPerMillion: 1.5,
  ...more,
});
const costOf = (more: Partial<GiantScan>) => giantScanCost(of(more));

describe('shards', () => {
  it.each([
    [1, 1],
    [300_000, 1],
    [1e6, 4],
    [1e9, 4096],
    [6.7e10, 262_144],
  ])('of %i objects are %i', (objects, shards) => {
    expect(shardsOf({ objects, keysPerShard: 300_000 })).toBe(shards);
  });

  it('have 0.7 to 1.4 times the keys wanted', () => {
    for (let objects = 3e5; objects < 1e11; objects *= 1.07) {
      const share = objects / shardsOf({ objects, keysPerShard: 300_000 }) / 300_000;
      expect(share).toBeGreaterThan(0.7);
      expect(share).toBeLessThan(1.42);
    }
  });
});

describe('one count, by hand', () => {
  it('of 10⁹ objects: 4,096 shards of 245 pages, which take 250 requests each', () => {
    const { requests, dollars, gbSeconds, ...cost } = costOf({ listsPerSecond: 100 });
    expect(requests).toBe(1_024_000);
    expect(dollars.lists).toBeCloseTo(5.12, 6);
    // One worker of 160 requests a second waits for the store: 2.5 s a shard, half a GB.
    expect(cost).toMatchObject({ workers: 1, limit: 'the store', seconds: 10_240 });
    expect(gbSeconds).toBeCloseTo(5120, 6);
    expect(dollars.functions).toBeCloseTo(5120 * 13.3334e-6 + 4096 * 0.2e-6, 6);
    expect(dollars.queue).toBeCloseTo(4096 * 1.5e-6, 6);
    expect(dollars.table).toBeCloseTo(4096 * (6 * 0.625e-6 + 4 * 0.125e-6), 6);
    expect(dollars.map).toBeCloseTo(4096 * 3 * 25e-6, 6);
    expect(dollars.inventory).toBeCloseTo(2.5, 6);
    // 10⁹ keys in 10,240 s at 1.5 µs: 0.15 cores. One machine for 2.84 hours.
    expect(cost.vcpu).toBeCloseTo(0.1465, 4);
    expect(dollars.machines).toBeCloseTo((10_240 / 3600) * 0.145, 6);
    expect(cost.gigabitsPerSecond).toBeCloseTo((1e9 / 10_240) * 356 * 8e-9, 6);
    expect(queuedDollars(dollars)).toBeCloseTo(
      dollars.lists + dollars.table + dollars.functions + dollars.queue,
      9,
    );
  });

  it('of 67 billion at 5,500 LISTs a second: 35 workers, 3.5 hours, 343 dollars', () => {
    const cost = costOf({ objects: 6.7e10, listsPerSecond: 5500 });
    expect(cost).toMatchObject({ shards: 262_144, requests: 262_144 * 262, workers: 35, limit: 'the store' });
    expect(cost.seconds).toBeCloseTo((7490 * 262) / (5500 / 35), 6);
    expect(cost.dollars.lists).toBeCloseTo(343.41, 2);
    expect(Math.ceil(cost.vcpu / 4)).toBe(3);
    expect(cost.dollars.machines).toBeCloseTo((3 * 0.145 * cost.seconds) / 3600, 9);
  });

  it('costs a tenth less in LISTs on R2, which has no inventory', () => {
    expect(costOf({ store: 'r2' }).dollars).toMatchObject({
      lists: expect.closeTo(0.9 * 5.12, 6),
      inventory: undefined,
    });
  });
});

describe('the time hangs on', () => {
  it('the workers, if they are few', () => {
    // 16 pages of 0.1 s: 160 requests a second each.
    const cost = costOf({ workers: 2 });
    expect(cost).toMatchObject({ limit: 'the workers', workers: 2 });
    expect(cost.seconds).toBeCloseTo(1_024_000 / 320, 6);
  });

  it('their cores, if pages come fast', () => {
    // 512 of 1,769 MB are 0.289 cores: 193 pages of 1.5 ms a second, not 1,600 of 10 ms.
    const cost = costOf({ workers: 1, pageSeconds: 0.01 });
    expect(1_024_000 / cost.seconds).toBeCloseTo(512 / 1769 / 0.0015, 6);
  });

  it('the number of shards, if there are fewer than workers', () => {
    const cost = costOf({ objects: 1e6, listsPerSecond: 5500 });
    expect(cost).toMatchObject({ limit: 'the number of shards', workers: 4 });
    expect(cost.seconds).toBeCloseTo(255 / 160, 9);
  });

  it('the last shard: eight shards on seven workers take two rounds', () => {
    const [eight, seven] = [costOf({ objects: 2.4e6, workers: 8 }), costOf({ objects: 2.4e6, workers: 7 })];
    expect([eight.shards, seven.seconds / eight.seconds]).toEqual([8, 2]);
  });
});

describe('beside what others published', () => {
  it('100 million keys in 924 s with 10 lanes and in 102 s with 100, at 82 ms a page', () => {
    const seconds = (pagesAtOnce: number) =>
      costOf({ objects: 1e8, workers: 1, pagesAtOnce, pageSeconds: 0.08214, memoryMb: 32 * 1769 }).seconds;
    // No scan starts or ends as evenly as the model has it.
    expect(924 / seconds(10)).toBeCloseTo(1.1, 1);
    expect(102 / seconds(100)).toBeCloseTo(1.2, 1);
  });
});

describe('rolling scans', () => {
  it('of 10⁹ objects in a day: 11.9 LISTs a second, 30 rounds a month', () => {
    const rolling = rollingIn(of({}), 1);
    expect(rolling.listsPerSecond).toBeCloseTo(1_024_000 / 86_400, 6);
    expect(rolling.listsPerMonth).toBe(30 * 1_024_000);
    expect(rolling.dollarsPerMonth).toBeCloseTo(30 * queuedDollars(costOf({ workers: 2 }).dollars), 6);
  });

  it('cost no more with a low rate, because no function waits for it', () => {
    expect(rollingIn(of({ listsPerSecond: 1 }), 1)).toEqual(rollingIn(of({ listsPerSecond: 5500 }), 1));
  });

  it('go by the rate or by the ceiling of a month, whichever allows less', () => {
    const byRate = rollingWithin(of({}), { listsPerSecond: 1, listsPerMonth: 1e9 });
    expect(byRate.roundDays).toBeCloseTo(1_024_000 / 86_400, 6);
    const byCeiling = rollingWithin(of({}), { listsPerSecond: 1000, listsPerMonth: 1_024_000 });
    expect(byCeiling.roundDays).toBeCloseTo(30, 6);
    expect(byCeiling.listsPerMonth).toBeCloseTo(1_024_000, 6);
  });
});

it('a shard of hashes takes about the requests of the planner', async () => {
  const keys = 212_000;
  const objects = hashNames(keys, keys).map((name) => ({ key: `t/r/${name}`, sizeBytes: 3 }));
  const listing = new RoundListing(objects);
  const settings = { scanConcurrency: defaultGiantScan.pagesAtOnce };
  const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings });
  const outcome = await listing.serve(scan.scan({ prefix: 't/r/', hintObjects: keys }));
  const modelled = costOf({ objects: keys, keysPerShard: keys }).requests;
  expect(Math.abs(outcome.requests / modelled - 1)).toBeLessThan(0.015);
});
