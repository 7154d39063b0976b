import { describe, expect, it } from 'vitest';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import type { CountedPart, ScanRest, ScanStrategy } from '../../../../../lambda/core/scan/rules/scan-plan.ts';
import { type ListPageRequest, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { bucketShapes } from '../../../../support/bucket-shapes.ts';
import { hashNames, RoundListing } from '../../../../support/round-listing.ts';

const prefix = 't/r/';

function objectsOf(names: readonly string[]) {
  return names.map((name, index) => ({ key: prefix + name, sizeBytes: 1 + (index % 97) }));
}

function scanOver(listing: Pick<RoundListing, 'listPage'>) {
  return createPathScan({ listing, clock: { nowMs: () => 0 }, settings: { scanConcurrency: 16 } });
}

const keysOf = ({ page, keyCount }: CountedPart) =>
  Array.from({ length: keyCount }, (_, index) => page.keyAt(index));

const shapes = [
  { title: 'hashes', names: () => hashNames(9000, 5) },
  ...bucketShapes.filter(({ title }) => /one huge folder|tree of 4|hashes, then/.test(title)),
];
const strategies: readonly ScanStrategy[] = [
  { kind: 'probe' },
  { kind: 'sixteen' },
  { kind: 'sequential' },
  { kind: 'hint', objects: 12_000 },
];

describe.each(shapes)('what a scan of $title would leave', ({ names }) => {
  it.each(strategies)('holds at every page exactly what is not counted ($kind)', async (strategy) => {
    const objects = objectsOf(names());
    const listing = new RoundListing(objects);
    const counted: string[] = [];
    const kept: { rest: string; counted: number }[] = [];
    let restOf: () => ScanRest | undefined = () => undefined;
    const whole = await listing.serve(
      scanOver(listing).scan({
        prefix,
        strategy,
        onBegin: (rest) => {
          restOf = rest;
          kept.push({ rest: JSON.stringify(rest()), counted: 0 });
        },
        onPart: (part) => void counted.push(...keysOf(part)),
        onPage: () => void kept.push({ rest: JSON.stringify(restOf()), counted: counted.length }),
      }),
    );
    const truth = {
      objectCount: objects.length,
      storedBytes: objects.reduce((sum, o) => sum + o.sizeBytes, 0),
    };
    expect(whole).toMatchObject({ kind: 'done', ...truth });
    const step = Math.max(1, Math.floor(kept.length / 4));
    for (let index = 0; index < kept.length; index += step) {
      const { rest = '', counted: before = 0 } = kept[index] ?? {};
      const again: string[] = [];
      const resumed = new RoundListing(objects);
      const onPart = (part: CountedPart) => void again.push(...keysOf(part));
      const outcome = await resumed.serve(
        scanOver(resumed).scan({ prefix, resume: JSON.parse(rest), onPart }),
      );
      expect(outcome).toMatchObject({ kind: 'done', ...truth });
      expect([...counted.slice(0, before), ...again].sort()).toEqual(objects.map(({ key }) => key).sort());
    }
  });
});

describe('a scan that is stopped', () => {
  const objects = objectsOf(hashNames(30_000, 6));

  it('counts the pages that are on their way, asks for no more, and can be continued', async () => {
    const listing = new RoundListing(objects);
    const stop = new AbortController();
    const onPage = () => void (listing.requests.length >= 10 && stop.abort());
    const part = await listing.serve(scanOver(listing).scan({ prefix, stop: stop.signal, onPage }));
    expect(part.kind).toBe('unfinished');
    if (part.kind !== 'unfinished') return;
    expect(part.rest.objectCount).toBeGreaterThan(5000);
    const sent = listing.requests.length;
    const whole = await listing.serve(scanOver(listing).scan({ prefix, resume: part.rest }));
    expect(whole).toMatchObject({ kind: 'done', objectCount: 30_000 });
    expect(listing.requests.length - sent).toBeLessThan(31);
  });

  it('ends although its pages fail, whatever they fail with', async () => {
    const listing = new RoundListing(objects);
    const stop = new AbortController();
    const failing = {
      listPage: async (request: ListPageRequest) => {
        const page = await listing.listPage(request);
        if (!stop.signal.aborted) return page;
        throw new StoreUnavailableError('given up');
      },
    };
    const onPage = () => void (listing.requests.length >= 10 && stop.abort());
    const part = await listing.serve(scanOver(failing).scan({ prefix, stop: stop.signal, onPage }));
    expect(part.kind).toBe('unfinished');
    if (part.kind !== 'unfinished') return;
    const whole = await listing.serve(scanOver(listing).scan({ prefix, resume: part.rest }));
    expect(whole).toMatchObject({ kind: 'done', objectCount: 30_000 });
  });
});

describe('a part that could not be counted', () => {
  it('leaves nothing that could be continued wrongly', async () => {
    const listing = new RoundListing(objectsOf(hashNames(5000, 7)));
    let restOf: () => ScanRest | undefined = () => undefined;
    const scan = scanOver(listing).scan({
      prefix,
      onBegin: (rest) => {
        restOf = rest;
      },
      onPart: () => {
        if (listing.requests.length > 2) throw new Error('not countable');
      },
    });
    expect(restOf()).toMatchObject({ objectCount: 0 });
    await expect(listing.serve(scan)).rejects.toThrow('not countable');
    expect(restOf()).toBeUndefined();
  });
});

describe('more bytes than a number holds', () => {
  const large = objectsOf(hashNames(3000, 8)).map((object) => ({ ...object, sizeBytes: 5 * 1024 ** 4 }));

  it('are counted by who adds up the parts', async () => {
    const listing = new RoundListing(large);
    let bytes = 0n;
    const onPart = ({ sizeBytes }: CountedPart) => {
      bytes += BigInt(sizeBytes);
    };
    await listing.serve(scanOver(listing).scan({ prefix, onPart }));
    expect(bytes).toBe(3000n * 5n * 1024n ** 4n);
  });

  it('are told in parts of a page, each of which a number can tell', async () => {
    const sizeBytes = 2 ** 52 + 1;
    const listing = new RoundListing(large.map((object) => ({ ...object, sizeBytes })));
    let bytes = 0n;
    let keys = 0;
    const onPart = (part: CountedPart) => {
      expect(Number.isSafeInteger(part.sizeBytes)).toBe(true);
      bytes += BigInt(part.sizeBytes);
      keys += part.keyCount;
    };
    await listing.serve(scanOver(listing).scan({ prefix, onPart }));
    expect([keys, bytes]).toEqual([large.length, BigInt(sizeBytes) * BigInt(large.length)]);
  });
});
