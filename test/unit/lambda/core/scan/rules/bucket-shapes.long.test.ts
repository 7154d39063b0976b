import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPathScan } from '../../../../../../lambda/core/scan/path-scan.ts';
import { bucketShapes, largeShapes } from '../../../../../support/bucket-shapes.ts';
import { hashNames, RoundListing } from '../../../../../support/round-listing.ts';

type Kind = 'probe' | 'sixteen' | 'hint';

/** Counts names as `du` does, and checks the result. Every page takes one round. */
async function costOf(names: readonly string[], kind: Kind = 'probe') {
  const listing = new RoundListing(
    names.map((name, index) => ({ key: `t/r/${name}`, sizeBytes: index % 7 })),
  );
  const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings: { scanConcurrency: 128 } });
  const strategy = kind === 'hint' ? { kind, objects: names.length } : { kind };
  const outcome = await listing.serve(scan.scan({ prefix: 't/r/', strategy }));
  const storedBytes = names.reduce((sum, _, index) => sum + (index % 7), 0);
  expect(outcome).toMatchObject({ kind: 'done', objectCount: names.length, storedBytes });
  const pages = Math.max(1, Math.ceil(names.length / 1000));
  return { pages, requests: outcome.requests, rounds: listing.rounds };
}

describe('a bucket that is no store of hashes', () => {
  it.each(bucketShapes.map((shape) => [shape.title, shape.names] as const))(
    'takes at most 1.5 requests a page: %s',
    async (_, namesOf) => {
      const { pages, requests } = await costOf(namesOf());
      expect(requests).toBeLessThanOrEqual(1.5 * pages);
    },
  );

  it.each(largeShapes.map((shape) => [shape.title, shape.names] as const))(
    'is listed in parallel if it is large, with at most 1.2 requests a page: %s',
    async (_, namesOf) => {
      const { pages, requests, rounds } = await costOf(namesOf());
      expect(requests).toBeLessThanOrEqual(1.2 * pages);
      expect(rounds).toBeLessThanOrEqual(pages / 5);
    },
  );

  it('takes at most 1.5 requests a page if folders of any names and sizes are mixed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyFolder, { minLength: 1, maxLength: 12 }), async (folders) => {
        const names = [...new Set(folders.flat())];
        const { pages, requests } = await costOf(names);
        expect(requests).toBeLessThanOrEqual(1.5 * pages);
      }),
      { numRuns: 60 },
    );
  });

  it('takes 16 requests more at most if 16 begin', async () => {
    for (const { names } of bucketShapes.slice(0, 12)) {
      const [probe, sixteen] = [await costOf(names()), await costOf(names(), 'sixteen')];
      expect(sixteen.requests).toBeLessThanOrEqual(1.5 * probe.pages + 16);
    }
  });
});

const anyNumber = fc.tuple(fc.nat(9), fc.constantFrom(1, 1, 3, 60), fc.nat(7));
/** The names of one folder: numbers, hashes, dates, or words, in one folder or many. */
const anyFolder = fc
  .tuple(
    fc.string({ unit: fc.constantFrom(...'0189afgzAZ-_. éü日😀'), minLength: 1, maxLength: 6 }),
    fc.constantFrom('numbers', 'hashes', 'hash folders', 'dates', 'unpadded', 'many folders'),
    fc.oneof(fc.nat(30), fc.nat(1500), fc.nat(6000)),
    anyNumber,
  )
  .map(([folder, kind, count, [start, step, digits]]) =>
    Array.from({ length: count }, (_, index) => {
      const number = start + index * step;
      const hash = hashNames(1, index + start * 7919)[0] ?? '';
      if (kind === 'hashes') return `${folder}/${hash}`;
      if (kind === 'hash folders') return `${folder}/${hash.slice(0, 2)}/${hash}`;
      if (kind === 'unpadded') return `${folder}/img ${number}.png`;
      if (kind === 'many folders') return `${folder}/${Math.floor(number / 20)}/${index}`;
      const date = new Date(1_600_000_000_000 + number * 600_000).toISOString();
      if (kind === 'dates') return `${folder}/${date.slice(0, 10).replaceAll('-', '/')}/${date}`;
      return `${folder}/${String(number).padStart(digits, '0')}`;
    }),
  );

/** Requests and rounds over three sets of hashes, as they were before uneven names had a way of their own. */
const hashCosts: readonly (readonly [number, Kind, number, number])[] = [
  [1000, 'probe', 3, 3],
  [1000, 'sixteen', 48, 3],
  [1000, 'hint', 3, 3],
  [2000, 'probe', 9, 6],
  [2000, 'sixteen', 48, 3],
  [2000, 'hint', 9, 3],
  [4000, 'probe', 15, 6],
  [4000, 'sixteen', 48, 3],
  [4000, 'hint', 15, 3],
  [16_000, 'probe', 55, 6],
  [16_000, 'sixteen', 71, 6],
  [16_000, 'hint', 54, 3],
  [17_000, 'probe', 58, 6],
  [17_000, 'sixteen', 95, 6],
  [17_000, 'hint', 57, 3],
  [40_000, 'probe', 135, 12],
  [40_000, 'sixteen', 144, 6],
  [40_000, 'hint', 128, 8],
  [100_000, 'probe', 320, 13],
  [100_000, 'hint', 319, 9],
];

describe('a store of hashes', () => {
  it.each(hashCosts)(
    'of %i keys takes no more requests and rounds than before (%s)',
    async (keys, kind, requests, rounds) => {
      let sum = { requests: 0, rounds: 0 };
      for (let seed = 1; seed <= 3; seed += 1) {
        const cost = await costOf(hashNames(keys, seed * 1009 + keys), kind);
        sum = { requests: sum.requests + cost.requests, rounds: sum.rounds + cost.rounds };
      }
      expect(sum).toEqual({ requests, rounds });
    },
  );
});
