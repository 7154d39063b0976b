import { describe, expect, it } from 'vitest';
import { ScanListing } from '../../../../../lambda/core/scan/list-objects.ts';
import { addingOld } from '../../../../../lambda/core/scan/page-in-range.ts';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import type { PathScanInput, ScanRest } from '../../../../../lambda/core/scan/rules/scan-plan.ts';
import { AdoptedListing } from '../../../../../lambda/core/store/adopted-listing.ts';
import { BucketClient } from '../../../../../lambda/core/store/bucket-client.ts';
import {
  type AdoptedRepo,
  AdoptedRepos,
  storedNameOf,
} from '../../../../../lambda/core/store/rules/adopted-repos.ts';
import type { ListPageRequest, ObjectListing } from '../../../../../lambda/core/store/rules/store.ts';
import { systemClock } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { hashNames, type ListedObject, RoundListing, truthOf } from '../../../../support/round-listing.ts';
import { type Habits, oddStore } from './odd-store.ts';

const prefix = 't/r/';
const habits: Habits = {
  order: 'hashed',
  encoding: 'url',
  saysUrl: true,
  repeats: 'never',
  isInclusive: false,
  ignoresStartAfter: false,
  hasEmptyPages: false,
  pageKeysMax: 100,
};
const credentials = async () => ({ accessKeyId: 'key', secretAccessKey: 'secret' });

function listingOf(objects: readonly ListedObject[], more: Partial<Habits> = {}): ScanListing {
  const place = { bucket: 'b', region: 'us-east-1', credentials };
  return new ScanListing({ client: new BucketClient(place, oddStore(objects, { ...habits, ...more })) });
}

function scanOver(listing: Pick<ObjectListing, 'listPage'>) {
  const warnings: unknown[] = [];
  const log = { warn: (...line: unknown[]) => void warnings.push(line) };
  const { scan } = createPathScan({ listing, clock: systemClock, settings: { scanConcurrency: 16 }, log });
  return { scan, warnings };
}

const objects = hashNames(3000, 5).map((name, index) => ({ key: prefix + name, sizeBytes: index }));

describe('a scan of a store without an order', () => {
  it('of a part of the key space counts that part, and what it added up before is counted again', async () => {
    const range = { after: '3ffffffffffff', last: '5ffffffffffff' };
    const nothing = { prefix, storedBytes: 0, objectCount: 0, seen: [], requests: 0, isSequential: false };
    const { scan, warnings } = scanOver(listingOf(objects));
    const old = addingOld(0);
    const options: PathScanInput = { prefix, within: range, lookFor: 'everything', ...old.options };
    const resume = { ...nothing, ranges: [range], objectsExpected: 3000 };
    const part = await scan({ ...options, resume, requestsMax: 4 });
    if (part.kind === 'done') throw new Error('Four requests must not be enough.');
    const whole = await scan({ ...options, resume: JSON.parse(JSON.stringify(part.rest)) });
    const inRange = objects.filter(({ key }) => /^[45]/.test(key.slice(prefix.length)));
    const truth = truthOf(inRange, prefix);
    expect(whole).toMatchObject({ kind: 'done', ...truth });
    expect(whole.kind === 'done' && new Set(whole.seen.keys())).toEqual(
      new Set(inRange.map(({ key }) => key.slice(prefix.length))),
    );
    expect(old.found.bytes).toBe(truth.storedBytes);
    expect(warnings).toEqual([[expect.stringContaining("doesn't list keys in order"), { prefix }]]);
  });

  it('has a budget for both of its passes together', async () => {
    const { scan } = scanOver(listingOf(objects));
    for (const requestsMax of [1, 2, 10]) {
      const part = await scan({ prefix, requestsMax });
      expect(part).toMatchObject({ kind: 'unfinished', requests: requestsMax });
    }
    expect(await scan({ prefix })).toMatchObject({ kind: 'done', ...truthOf(objects, prefix), requests: 31 });
  });
});

describe('an adopted repo', () => {
  const repo: AdoptedRepo = { tenant: 't', repo: 'r', path: 'lfs/', names: 'ab/cd/rest' };
  const oids = hashNames(700, 6);
  const adopted = [
    ...oids.map((oid, index) => ({ key: `lfs/${storedNameOf('ab/cd/rest', oid)}`, sizeBytes: index })),
    { key: 'lfs/incomplete/x', sizeBytes: 1 },
  ];
  const scanAdopted = (more: Partial<Habits>) =>
    scanOver(new AdoptedListing(listingOf(adopted, more), new AdoptedRepos([repo])));
  const truth = { kind: 'done', objectCount: 700, storedBytes: (700 * 699) / 2 };

  it('is counted in whatever order the store lists', async () => {
    for (const order of ['utf8', 'hashed', 'folders last'] as const) {
      const { scan, warnings } = scanAdopted({ order });
      const outcome = await scan({ prefix, lookFor: 'everything' });
      expect(outcome).toMatchObject(truth);
      expect(outcome.kind === 'done' && new Set(outcome.seen.keys())).toEqual(new Set(oids));
      expect(warnings).toHaveLength(order === 'hashed' ? 1 : 0);
    }
  });

  it('is not counted as empty if its keys are not what the store says they are', async () => {
    const { scan } = scanAdopted({ encoding: 'with slashes', saysUrl: false });
    await expect(scan({ prefix })).rejects.toThrow('a key without the requested prefix');
  });
});

describe('where two ranges meet', () => {
  const few = objects.slice(0, 300);
  const cut = (request: ListPageRequest) => request.startAfter?.slice(prefix.length);

  it.each([
    ['comes', (all: ListedObject[], after: string) => [...all, { key: `${prefix}${after}0`, sizeBytes: 1 }]],
    [
      'goes',
      (all: ListedObject[], after: string) => {
        const first = all
          .map(({ key }) => key)
          .sort()
          .find((key) => key > prefix + after);
        return all.filter(({ key }) => key !== first);
      },
    ],
  ])('a key that %s between their pages makes no scan start again', async (_, change) => {
    let all = [...few];
    const changedAt = new Set<string>();
    const listing = {
      async listPage(request: ListPageRequest) {
        const after = cut(request);
        if (after !== undefined && !changedAt.has(after)) {
          changedAt.add(after);
          all = change(all, after);
        }
        return new RoundListing(all).pageOf(request);
      },
    };
    const { scan, warnings } = scanOver(listing);
    const outcome = await scan({ prefix, strategy: { kind: 'fixed-sixteen' } });
    expect(warnings).toEqual([]);
    expect(changedAt.size).toBe(15);
    expect(outcome).toMatchObject({ kind: 'done' });
    expect(outcome.requests).toBeGreaterThan(16);
    expect(outcome.requests).toBeLessThanOrEqual(16 + 2 * 15);
  });

  // Without regard to case, b comes before C: the range up to C9 ends at b, and the one behind it begins after c.
  const names = ['A1', 'A2', 'b1', 'b2', 'C1', 'C2', 'd1', 'd2'];
  const foldedCase = (pageKeysMax: number) =>
    scanOver(
      listingOf(
        names.map((name) => ({ key: prefix + name, sizeBytes: 1 })),
        { order: 'no case', pageKeysMax },
      ),
    );
  const nothing = { prefix, storedBytes: 0, objectCount: 0, seen: [], requests: 0, isSequential: false };
  const ranges = [
    { after: null, last: 'C9' },
    { after: 'C9', last: null },
  ];

  it('keys that only one of them may see are counted all the same', async () => {
    for (let pageKeysMax = 1; pageKeysMax <= 8; pageKeysMax += 1) {
      const { scan } = foldedCase(pageKeysMax);
      const outcome = await scan({ prefix, resume: { ...nothing, ranges, objectsExpected: null } });
      expect(outcome).toMatchObject({ kind: 'done', objectCount: 8 });
    }
  });

  it.each([
    ['before', ranges],
    ['behind', ranges.toReversed()],
  ])('keys between them are counted if a scan stops after the range %s the cut', async (_, all) => {
    const { scan } = foldedCase(3);
    let resume: ScanRest = { ...nothing, ranges: all, objectsExpected: null };
    for (let pages = 0; pages < 20; pages += 1) {
      const outcome = await scan({ prefix, resume, requestsMax: 1 });
      if (outcome.kind === 'done') return expect(outcome.objectCount).toBe(8);
      resume = JSON.parse(JSON.stringify(outcome.rest));
    }
    throw new Error('It never ends.');
  });
});
