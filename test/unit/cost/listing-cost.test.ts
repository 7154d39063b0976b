import { describe, expect, it } from 'vitest';
import {
  breakEvenPageSeconds,
  evenSixteenListing,
  type Listing,
  listingCost,
  prefixListing,
  secondPrice,
  sequentialListing,
  splitListing,
} from '../../../cost/listing-cost.ts';
import { cloudPrices, r2Prices } from '../../../cost/prices.ts';
import { createPathScan } from '../../../lambda/use-cases/scan/path-scan.ts';
import { Random } from '../../support/random.ts';
import { hashNames, RoundListing } from '../../support/round-listing.ts';

/** The question was about R2, with 256 MB of Lambda on x86, and 2.5 s a page. */
const prices = {
  list: r2Prices.putOrList,
  second: secondPrice({ memoryMb: 256, gbSecond: cloudPrices.lambdaGbSecondX86 }),
};
const cost = (listing: Listing, pageSeconds = 2.5) => listingCost(listing, { pageSeconds, prices });

describe('sixteen at once or one after the other', () => {
  it('has p/c = 1.08', () => {
    expect(prices.list / prices.second).toBeCloseTo(1.08, 4);
  });

  it('1: at 5,000 keys sixteen at once is more expensive, from 5,001 on it is cheaper', () => {
    expect(cost(evenSixteenListing(5000))).toBeCloseTo(0.0000824, 7);
    expect(cost(sequentialListing(5000))).toBeCloseTo(0.0000746, 7);
    expect(cost(evenSixteenListing(5001))).toBeLessThan(cost(sequentialListing(5001)));
  });

  it('2: at 17,000 keys it is 35 % cheaper, despite two rounds', () => {
    expect(evenSixteenListing(17_000)).toEqual({ requests: 32, rounds: 2 });
    const share = cost(evenSixteenListing(17_000)) / cost(sequentialListing(17_000));
    expect(1 - share).toBeCloseTo(0.35, 2);
  });

  it.each([2000, 5000, 5001, 17_000, 100_000])(
    '3: at the break-even of %i keys both cost the same',
    (keys) => {
      const [quick, slow] = [evenSixteenListing(keys), sequentialListing(keys)];
      const pageSeconds = breakEvenPageSeconds(quick, slow, prices);
      expect(cost(quick, pageSeconds)).toBeCloseTo(cost(slow, pageSeconds), 12);
      expect(cost(quick, pageSeconds * 1.01)).toBeLessThan(cost(slow, pageSeconds * 1.01));
      expect(cost(quick, pageSeconds * 0.99)).toBeGreaterThan(cost(slow, pageSeconds * 0.99));
    },
  );

  it('3: by hand, 5,000 keys: 1.08 × (16 − 5) / (5 − 1) = 2.97 s', () => {
    expect(breakEvenPageSeconds(evenSixteenListing(5000), sequentialListing(5000), prices)).toBeCloseTo(
      2.97,
      4,
    );
  });

  it('4: 15,500 hashes take more than 16 requests in one round: 18.3 in 1.97 on average', () => {
    const sets = 300;
    let [requests, rounds] = [0, 0];
    for (let set = 1; set <= sets; set += 1) {
      const counts = new Array<number>(16).fill(0);
      const random = new Random(set);
      for (let key = 0; key < 15_500; key += 1) {
        const digit = random.int(0, 15);
        counts[digit] = (counts[digit] ?? 0) + 1;
      }
      const listing = prefixListing(counts);
      requests += listing.requests / sets;
      rounds += listing.rounds / sets;
    }
    expect(evenSixteenListing(15_500)).toEqual({ requests: 16, rounds: 1 });
    expect(Math.abs(requests - 18.3)).toBeLessThan(0.2);
    expect(Math.abs(rounds - 1.97)).toBeLessThan(0.03);
  });

  it('5: an empty path takes one request, or sixteen', () => {
    expect(sequentialListing(0)).toEqual({ requests: 1, rounds: 1 });
    expect(evenSixteenListing(0)).toEqual({ requests: 16, rounds: 1 });
  });

  it('6: sixteen times the cost is true only of requests, up to 1,000 keys', () => {
    const ratio = (keys: number) => evenSixteenListing(keys).requests / sequentialListing(keys).requests;
    expect(ratio(1000)).toBe(16);
    expect(ratio(1001)).toBe(8);
    expect(cost(evenSixteenListing(1000)) / cost(sequentialListing(1000))).toBeCloseTo(5.5, 1);
  });

  it('is never cheaper if it saves no round', () => {
    expect(breakEvenPageSeconds(evenSixteenListing(1000), sequentialListing(1000), prices)).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});

describe('estimate, then split', () => {
  it.each([0, 1000, 2000, 5000, 17_000, 100_000])('costs no more than the other two at %i keys', (keys) => {
    const split = cost(splitListing(keys, { hasHint: true }));
    expect(split).toBeLessThanOrEqual(cost(sequentialListing(keys)));
    expect(split).toBeLessThanOrEqual(cost(evenSixteenListing(keys)));
  });

  it('costs one request more than page after page if nothing is known and there are two pages', () => {
    const [split, pages] = [splitListing(2000, { hasHint: false }), sequentialListing(2000)];
    expect(split).toEqual({ requests: pages.requests + 1, rounds: pages.rounds });
  });

  it.each([
    [0, true],
    [1000, true],
    [2000, true],
    [4000, true],
    [4000, false],
    [10_000, true],
    [10_000, false],
    [20_000, true],
    [50_000, true],
  ])('matches a scan of %i hashes, hint %s', async (keys, hasHint) => {
    const sets = keys > 10_000 ? 2 : 5;
    let [requests, rounds] = [0, 0];
    for (let set = 1; set <= sets; set += 1) {
      const objects = hashNames(keys, set).map((name) => ({ key: `t/r/${name}`, sizeBytes: 1 }));
      const listing = new RoundListing(objects);
      const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings: { scanConcurrency: 128 } });
      const hint = hasHint ? { hintObjects: keys } : {};
      const outcome = await listing.serve(scan.scan({ prefix: 't/r/', ...hint }));
      requests += outcome.requests / sets;
      rounds += listing.rounds / sets;
    }
    const modelled = splitListing(keys, { hasHint });
    expect(Math.abs(modelled.requests - requests)).toBeLessThanOrEqual(1);
    expect(Math.abs(modelled.rounds - rounds)).toBeLessThanOrEqual(1);
  });
});
