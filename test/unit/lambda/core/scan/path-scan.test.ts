import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PageTrail } from '../../../../../lambda/core/scan/page-trail.ts';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import type {
  PathScanInput,
  PathScanOutcome,
  ScanStrategy,
} from '../../../../../lambda/core/scan/rules/scan-plan.ts';
import {
  type ListedPage,
  type ListPageRequest,
  StoreUnavailableError,
} from '../../../../../lambda/core/store/rules/store.ts';
import { hashNames, type ListedObject, RoundListing, truthOf } from '../../../../support/round-listing.ts';

function pageOf(keys: readonly string[], token?: string): ListedPage {
  return {
    keyCount: keys.length,
    totalBytes: keys.length,
    keyAt: (index) => keys[index] ?? '',
    sizeAt: () => 1,
    lastModifiedMsAt: () => undefined,
    etagAt: () => '',
    isTruncated: token !== undefined,
    nextContinuationToken: token,
  };
}

/** Follows pages of a key each. @returns how many it followed. */
function followTokens(tokenAt: (index: number) => string, pagesMax: number): number {
  const trail = new PageTrail('t/r/');
  for (let index = 0; index < pagesMax; index += 1) {
    try {
      trail.follow(pageOf([`${index}`], tokenAt(index)));
    } catch (error) {
      expect(String(error)).toMatch(/repeats a continuation token/);
      return index;
    }
  }
  return pagesMax;
}

describe('a trail of pages', () => {
  it('may be of any length, whatever its tokens are', () => {
    expect(followTokens((index) => `token ${index}`, 10_000)).toBe(10_000);
  });

  it('ends where a token is repeated at once', () => {
    for (const last of [0, 1, 2, 5, 100])
      expect(followTokens((index) => `token ${Math.min(index, last)}`, 10_000)).toBe(last + 1);
  });

  it('ends within a few rounds of a cycle, wherever it begins', () => {
    for (const start of [0, 1, 7, 60])
      for (const length of [2, 3, 10, 64]) {
        const tokenAt = (index: number) =>
          `token ${index < start ? index : start + ((index - start) % length)}`;
        expect(followTokens(tokenAt, 10_000)).toBeLessThan(3 * (start + length) + 3);
      }
  });

  it('ends after 1,000 pages without a new key, whatever their tokens are', () => {
    for (const keys of [[], ['a', 'b']]) {
      const trail = new PageTrail('t/r/');
      trail.follow(pageOf(['a', 'b'], 'first'));
      const follow = (index: number) => trail.follow(pageOf(keys, `${index}`));
      for (let index = 1; index < 1000; index += 1) follow(index);
      expect(() => follow(1000)).toThrow(/1000 pages in a row without a new key below "t\/r\/"/);
    }
  });

  it('ends if keys come again too far apart to be told from others', () => {
    const keysOf = (page: number) => Array.from({ length: 1000 }, (_, index) => `${page}/${index}`);
    const trail = new PageTrail('t/r/');
    const follow = (page: number, keys = keysOf(page)) => trail.follow(pageOf(keys, `${page}`));
    for (let page = 0; page <= 100; page += 1) expect(follow(page)).toHaveLength(1000);
    expect(() => follow(101, ['60/1'])).toThrow(/too far apart/);
  });

  it('that goes on ends if keys come again, unless the one before can have forgotten none', () => {
    const goOn = (count: number) => {
      const listed = Array.from({ length: count }, (_, index) => `${index}`);
      return new PageTrail('t/r/', listed).follow(pageOf(['a', 'a']));
    };
    expect(goOn(49_999)).toEqual([0]);
    expect(() => goOn(50_000)).toThrow(/too far apart/);
  });

  it('ends if a long listing begins again, in the same scan or in one that goes on', () => {
    const keysOf = (page: number) => Array.from({ length: 1000 }, (_, index) => `${page}/${index}`);
    const trail = new PageTrail('t/r/');
    for (let page = 0; page < 250; page += 1)
      expect(trail.follow(pageOf(keysOf(page), `${page}`))).toHaveLength(1000);
    expect(trail.listed.length).toBeLessThanOrEqual(100_000);
    for (const goesOn of [new PageTrail('t/r/', trail.listed), trail])
      expect(() => {
        for (let page = 0; page < 50; page += 1) goesOn.follow(pageOf(keysOf(page), `again ${page}`));
      }).toThrow(/too far apart/);
  });

  it('tells which keys no page had before, pages without keys between them or not', () => {
    const begin = () => {
      const trail = new PageTrail('t/r/');
      trail.follow(pageOf(['b', 'a', 'ü'], '1'));
      return trail;
    };
    expect(begin().follow(pageOf(['A', 'z'], '2'))).toEqual([0, 1]);
    for (const key of ['b', 'a', 'ü']) {
      const trail = begin();
      expect(trail.follow(pageOf([], '2'))).toEqual([]);
      expect([trail.follow(pageOf([key, 'z', 'z'], '3')), trail.hasRepeated]).toEqual([[1], true]);
    }
  });
});

const prefix = 't/r/';
const hex = fc.constantFrom(...'0123456789abcdef');
const hexName = fc.string({ unit: hex, minLength: 1, maxLength: 64 });
/** Names that are hashes, short hex, skewed to one spot, not hex at all, in folders, or beyond ASCII. */
const anyName = fc.oneof(
  hexName,
  hexName.map((name) => `aaaaaaaaaaaaaaaa${name}`),
  hexName.map((name) => `${name.slice(0, 2)}/${name.slice(2)}`),
  fc
    .tuple(fc.constantFrom('a/', 'zz/', 'zz/b/', 'é/', '\uff21/', '/', '9/'), hexName)
    .map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom(
    '',
    '/',
    '~',
    '9z',
    'f',
    'ffffffffffffffff',
    '\u{10000}',
    '\u{10ffff}',
    '\uffff',
    'A',
    ':',
    'g',
  ),
);
const anyObjects = fc
  .uniqueArray(fc.record({ name: anyName, sizeBytes: fc.nat(1e6) }), {
    selector: ({ name }) => name,
    maxLength: 150,
  })
  .map((objects) => objects.map(({ name, sizeBytes }) => ({ key: prefix + name, sizeBytes })));
const anyStrategy: fc.Arbitrary<ScanStrategy> = fc.oneof(
  fc.constantFrom('probe', 'sixteen', 'fixed-sixteen', 'sequential').map((kind) => ({ kind }) as const),
  fc.oneof(fc.nat(20), fc.nat(200_000)).map((objects) => ({ kind: 'hint', objects }) as const),
);
const beside: ListedObject[] = ['t/', 't/q/00', 't/r', 't/r0', 't/s/11'].map((key) => ({
  key,
  sizeBytes: 7,
}));

function scanOver(listing: Pick<RoundListing, 'listPage'>, nowMs = () => 0) {
  return createPathScan({ listing, clock: { nowMs }, settings: { scanConcurrency: 128 } });
}

describe('a scan counts every key once', () => {
  it('with any keys, strategy, page size and number of requests at a time', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyObjects,
        anyStrategy,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 20 }),
        async (objects, strategy, pageKeysMax, concurrency) => {
          const listing = new RoundListing([...objects, ...beside], { pageKeysMax });
          const lookFor = new Set([
            ...objects.filter((_, index) => index % 3 === 0).map(nameOf),
            'absent',
            'f0',
          ]);
          const outcome = await listing.serve(
            scanOver(listing).scan({ prefix, strategy, concurrency, lookFor }),
          );
          const looked = objects.filter((object) => lookFor.has(nameOf(object)));
          const seen = new Map(looked.map((object) => [nameOf(object), object.sizeBytes]));
          const requests = listing.requests.length;
          const recent = new Set();
          expect(outcome).toEqual({ kind: 'done', ...truthOf(objects, prefix), seen, recent, requests });
          expect(listing.underWayMax).toBeLessThanOrEqual(concurrency);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('if UTF-8 and JavaScript order the names after a folder differently', async () => {
    const inFolder = Array.from({ length: 12 }, (_, index) => `\uff21/${index.toString(16)}000`);
    const objects = [...inFolder, '\u{10000}a', '\u{10ffff}'].map((name) => ({
      key: prefix + name,
      sizeBytes: 1,
    }));
    for (const kind of ['probe', 'sixteen'] as const) {
      const listing = new RoundListing(objects, { pageKeysMax: 3 });
      const outcome = await listing.serve(scanOver(listing).scan({ prefix, strategy: { kind } }));
      expect(outcome).toMatchObject(truthOf(objects, prefix));
    }
  });

  it('over any number of continuations, each with what JSON keeps of the one before', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyObjects,
        anyStrategy,
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 9 }),
        async (objects, strategy, pageKeysMax, budgets) => {
          const looked = objects.filter((_, index) => index % 2 === 0);
          const lookFor = new Set(looked.map(nameOf));
          const seen = new Map(looked.map((object) => [nameOf(object), object.sizeBytes]));
          let input: PathScanInput = { prefix, strategy, lookFor };
          let requests = 0;
          for (const requestsMax of budgets) {
            const listing = new RoundListing([...objects, ...beside], { pageKeysMax });
            const part = await listing.serve(scanOver(listing).scan({ ...input, requestsMax }));
            expect(part.requests).toBeLessThanOrEqual(requestsMax);
            if (part.kind === 'done') break;
            requests += part.requests;
            expect(part.rest.requests).toBe(requests);
            input = { prefix, lookFor, resume: JSON.parse(JSON.stringify(part.rest)) };
          }
          const listing = new RoundListing(objects, { pageKeysMax });
          const outcome = await listing.serve(scanOver(listing).scan(input));
          expect(outcome).toMatchObject({ kind: 'done', ...truthOf(objects, prefix), seen });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('while others are created and deleted: those that stay once, the others at most once', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyObjects,
        anyStrategy.filter(({ kind }) => kind !== 'sequential'),
        fc.infiniteStream(fc.boolean()),
        async (objects, strategy, coins) => {
          const stays = objects.filter((_, index) => index % 2 === 0);
          const changing = objects.filter((_, index) => index % 2 === 1);
          const seenBytes = stays.map((object) => ({ ...object, sizeBytes: 1000 }));
          const listing = {
            listPage: async (request: ListPageRequest) => {
              const present = changing
                .filter(() => coins.next().value)
                .map((object) => ({ ...object, sizeBytes: 1 }));
              return new RoundListing([...seenBytes, ...present], { pageKeysMax: 5 }).pageOf(request);
            },
          };
          const outcome = done(await scanOver(listing).scan({ prefix, strategy }));
          expect(Math.floor(outcome.storedBytes / 1000)).toBe(stays.length);
          expect(outcome.storedBytes % 1000).toBeLessThanOrEqual(changing.length);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('a scan that is asked for recent keys', () => {
  const recentSinceMs = 1_000_000;
  const anyTime = fc.constantFrom(0, 999_999, 1_000_000, 1_000_001, 2_000_000, undefined);
  const recentOf = (objects: readonly ListedObject[]) => {
    const recent = objects.filter(({ lastModifiedMs }) => !(Number(lastModifiedMs) < recentSinceMs));
    return new Set(recent.map(nameOf));
  };
  const anyTimedObjects = fc.tuple(anyObjects, fc.infiniteStream(anyTime)).map(([objects, times]) =>
    objects.map((object): ListedObject => {
      const lastModifiedMs: number | undefined = times.next().value;
      return lastModifiedMs === undefined ? object : { ...object, lastModifiedMs };
    }),
  );

  it('names those stored since then, and those of which the store does not say when', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyTimedObjects,
        anyStrategy,
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 3 }),
        async (objects, strategy, pageKeysMax, budgets) => {
          const besideNow = beside.map((object) => ({ ...object, lastModifiedMs: 2_000_000 }));
          const listing = new RoundListing([...objects, ...besideNow], { pageKeysMax });
          let input: PathScanInput = { prefix, strategy, recentSinceMs };
          for (const requestsMax of budgets) {
            const part = await listing.serve(scanOver(listing).scan({ ...input, requestsMax }));
            if (part.kind === 'unfinished')
              input = { prefix, recentSinceMs, resume: JSON.parse(JSON.stringify(part.rest)) };
          }
          const outcome = await listing.serve(scanOver(listing).scan(input));
          expect(outcome).toMatchObject({ kind: 'done', ...truthOf(objects, prefix) });
          expect(done(outcome).recent).toEqual(recentOf(objects));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('leaves out what lies beyond the part of the key space that it was given', async () => {
    const objects = hashNames(3000, 21).map((name) => ({
      key: prefix + name,
      sizeBytes: 1,
      lastModifiedMs: 5,
    }));
    const range = { after: '4', last: '4ffffffffffff' };
    const resume = { prefix, ranges: [range], storedBytes: 0, objectCount: 0, seen: [], requests: 0 };
    const part = { ...resume, isSequential: false, objectsExpected: 3000 };
    const listing = new RoundListing(objects);
    const outcome = done(
      await listing.serve(scanOver(listing).scan({ prefix, recentSinceMs: 5, resume: part })),
    );
    const names = objects.map(nameOf).filter((name) => name.startsWith('4') && name <= range.last);
    expect([outcome.objectCount, outcome.recent]).toEqual([names.length, new Set(names)]);
  });

  it('says so if there are more than it may keep, and still counts all', async () => {
    const objects = hashNames(50, 22).map((name) => ({ key: prefix + name, sizeBytes: 1 }));
    const listing = new RoundListing(objects, { pageKeysMax: 8 });
    const scan = (input: Partial<PathScanInput>) =>
      listing.serve(scanOver(listing).scan({ prefix, recentSinceMs, ...input }));
    expect(done(await scan({ recentMax: 50 })).recent).toEqual(new Set(objects.map(nameOf)));
    expect(await scan({ recentMax: 49 })).toMatchObject({ objectCount: 50, recent: 'too many' });
    const part = await scan({ recentMax: 20, requestsMax: 3 });
    if (part.kind !== 'unfinished') throw new Error('Three requests must not be enough.');
    expect(part.rest.recent).toBe('too many');
    expect(await scan({ resume: part.rest })).toMatchObject({ objectCount: 50, recent: 'too many' });
  });

  it('reads no times otherwise', async () => {
    const listing = new RoundListing([{ key: `${prefix}a`, sizeBytes: 1 }]);
    expect(done(await listing.serve(scanOver(listing).scan({ prefix }))).recent).toEqual(new Set());
    expect(listing.requests.map(({ readsTimes }) => readsTimes)).toEqual([undefined]);
  });
});

describe('a scan ends', () => {
  const objects = hashNames(4000, 11).map((name) => ({ key: prefix + name, sizeBytes: 2 }));

  it('as unfinished at its deadline if it has counted a page, and can be continued', async () => {
    const listing = new RoundListing(objects);
    const late = () => (listing.rounds >= 1 ? 1000 : 0);
    const part = await listing.serve(scanOver(listing, late).scan({ prefix, deadlineMs: 1000 }));
    expect(part).toMatchObject({
      kind: 'unfinished',
      requests: 1,
      rest: { objectCount: 1000, storedBytes: 2000 },
    });
    if (part.kind !== 'unfinished') return;
    const whole = await listing.serve(scanOver(listing).scan({ prefix, resume: part.rest }));
    expect(whole).toMatchObject({ kind: 'done', objectCount: 4000, storedBytes: 8000 });
  });

  it('as unfinished if the store gives a page up at the deadline, unless no page was counted', async () => {
    const scan = (answered: number, error: Error) => {
      const listing = new RoundListing(objects);
      const failing = {
        listPage: async (request: ListPageRequest) => {
          const page = await listing.listPage(request);
          if (listing.requests.length > answered) throw error;
          return page;
        },
      };
      const late = () => (listing.requests.length > answered ? 1000 : 0);
      return listing.serve(
        scanOver(failing, late).scan({ prefix, strategy: { kind: 'sequential' }, deadlineMs: 1000 }),
      );
    };
    const givenUp = new StoreUnavailableError('given up');
    const part = await scan(2, givenUp);
    expect(part).toMatchObject({ kind: 'unfinished', requests: 3, rest: { objectCount: 2000 } });
    if (part.kind !== 'unfinished') return;
    const listing = new RoundListing(objects);
    const whole = await listing.serve(scanOver(listing).scan({ prefix, resume: part.rest }));
    expect(whole).toMatchObject({ kind: 'done', objectCount: 4000 });
    await expect(scan(0, givenUp)).rejects.toThrow('given up');
    await expect(scan(2, new TypeError('a bug'))).rejects.toThrow('a bug');
  });

  it('without further requests when another page has failed, although a page is answered after that', async () => {
    const listing = new RoundListing(objects);
    let sent = 0;
    const failing = {
      listPage: async (request: ListPageRequest) => {
        sent += 1;
        if (sent === 2) throw new StoreUnavailableError('broken');
        return listing.listPage(request);
      },
    };
    const scan = scanOver(failing).scan({ prefix, strategy: { kind: 'sixteen' }, concurrency: 3 });
    await expect(listing.serve(scan)).rejects.toThrow('broken');
    expect(sent).toBe(3);
  });

  it('as unfinished at its deadline if it goes on with another, although no page of its own has come', async () => {
    let nowMs = 0;
    const late = {
      listPage: async () => {
        nowMs = 1000;
        throw new StoreUnavailableError('within the deadline (no answer yet)');
      },
    };
    const range = { after: '4', last: '5' };
    const rest = { prefix, ranges: [range], storedBytes: 7, objectCount: 1, seen: [], requests: 1 };
    const resume = { ...rest, isSequential: false, objectsExpected: 4000 };
    const scan = (input: Partial<PathScanInput>) =>
      scanOver(late, () => nowMs).scan({ prefix, deadlineMs: 1000, ...input });
    expect(await scan({ resume })).toEqual({
      kind: 'unfinished',
      requests: 1,
      rest: { ...resume, requests: 2 },
    });
    nowMs = 0;
    await expect(scan({})).rejects.toThrow('no answer yet');
  });

  it('with the error of the page callback, so that a scan that nobody needs can be stopped', async () => {
    const listing = new RoundListing(objects);
    const onPage = async () => {
      throw new Error('superseded');
    };
    await expect(listing.serve(scanOver(listing).scan({ prefix, onPage }))).rejects.toThrow('superseded');
  });

  it('right if a store ignores StartAfter: it starts again, instead of counting keys twice', async () => {
    const listing = new RoundListing(objects);
    const ignoring = { listPage: ({ startAfter: _, ...rest }: ListPageRequest) => listing.listPage(rest) };
    const scan = scanOver(ignoring).scan({ prefix, strategy: { kind: 'hint', objects: 4000 } });
    expect(await listing.serve(scan)).toMatchObject({ objectCount: 4000, storedBytes: 8000 });
    const sequential = scanOver(ignoring).scan({ prefix, strategy: { kind: 'sequential' } });
    expect(await listing.serve(sequential)).toMatchObject({ objectCount: 4000, storedBytes: 8000 });
  });

  it('with an error if its bytes can no longer be added up exactly', async () => {
    const large = objects.slice(0, 3).map((object) => ({ ...object, sizeBytes: 2 ** 52 }));
    const listing = new RoundListing(large, { pageKeysMax: 1 });
    await expect(listing.serve(scanOver(listing).scan({ prefix }))).rejects.toThrow(/2\^53/);
  });

  it('at once if it is to continue the scan of another path', () => {
    const rest = { prefix: 'other/', ranges: [], storedBytes: 0, objectCount: 0, seen: [], requests: 0 };
    const resume = { ...rest, isSequential: false, objectsExpected: null };
    expect(() => scanOver(new RoundListing([])).scan({ prefix, resume })).toThrow(RangeError);
  });

  it('continues past pages without keys, by their token', async () => {
    const listing = new RoundListing(objects.slice(0, 5), { pageKeysMax: 2 });
    let empty = 0;
    const sparse = {
      listPage: async (request: ListPageRequest) => {
        if (request.continuationToken === undefined && empty < 3) {
          empty += 1;
          const token = `after:${request.startAfter ?? prefix}`;
          const none = { keyCount: 0, totalBytes: 0, isTruncated: true, nextContinuationToken: token };
          return {
            ...none,
            keyAt: () => '',
            sizeAt: () => 0,
            lastModifiedMsAt: () => undefined,
            etagAt: () => '',
          };
        }
        return listing.pageOf(request);
      },
    };
    expect(await scanOver(sparse).scan({ prefix })).toMatchObject({ objectCount: 5, storedBytes: 10 });
  });
});

describe('progress', () => {
  const sharesOf = async (names: string[], strategy: ScanStrategy) => {
    const listing = new RoundListing(names.map((name) => ({ key: prefix + name, sizeBytes: 2 })));
    const shares: (number | undefined)[] = [];
    const onPage = ({ share }: { share: number | undefined }) => void shares.push(share);
    const outcome = await listing.serve(scanOver(listing).scan({ prefix, strategy, onPage }));
    expect(outcome.requests).toBe(shares.length);
    return shares;
  };

  it('is reported after each page, with the share that was counted if names are hashes', async () => {
    const shares = await sharesOf(hashNames(20_000, 12), { kind: 'sixteen' });
    const known = shares.filter((share) => share !== undefined);
    expect(known.length).toBeGreaterThan(shares.length - 16);
    expect([...known].sort((a, b) => a - b)).toEqual(known);
    expect(known.at(-1)).toBe(1);
  });

  it.each(['probe', 'sixteen', 'fixed-sixteen', 'sequential'] as const)(
    'tells no share before the end if names are not hashes (%s)',
    async (kind) => {
      const names = Array.from(
        { length: 8000 },
        (_, index) => `photos/${String(index).padStart(6, '0')}.jpg`,
      );
      const shares = await sharesOf(names, { kind });
      expect(shares.slice(0, -1).filter((share) => share !== undefined)).toEqual([]);
      expect(shares.at(-1)).toBe(1);
    },
  );
});

function nameOf(object: ListedObject): string {
  return object.key.slice(prefix.length);
}

function done(outcome: PathScanOutcome) {
  if (outcome.kind !== 'done') throw new Error('The scan was not finished.');
  return outcome;
}
