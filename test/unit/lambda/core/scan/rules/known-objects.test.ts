import { describe, expect, it } from 'vitest';
import {
  KnownObjects,
  ListingPace,
  listsToAsk,
} from '../../../../../../lambda/core/scan/rules/known-objects.ts';

const settings = { headsPerList: 12.5 };

describe('objects are asked for by listing their repo', () => {
  it.each<[string, number, number | undefined, number]>([
    ['13 objects of a small repo', 13, 900, 1],
    ['13 objects of an empty repo', 13, 0, 1],
    ['100 objects of a repo of seven pages', 100, 7400, 8],
    ['100 objects of a repo that was never counted, by one page', 100, undefined, 1],
  ])('if that is no dearer: %s', (_, objectCount, repoObjects, lists) => {
    expect(listsToAsk(settings, { objectCount, repoObjects })).toBe(lists);
  });

  it.each<[string, number, number | undefined]>([
    ['12 objects', 12, 0],
    ['12 objects of a repo that was never counted', 12, undefined],
    ['24 objects of a repo of a thousand, which may need two pages', 24, 1000],
    ['100 objects of a repo of nine pages', 100, 7600],
  ])('but not %s', (_, objectCount, repoObjects) => {
    expect(listsToAsk(settings, { objectCount, repoObjects })).toBe(0);
  });

  it('never, if a LIST is said to cost more than any batch of HEADs', () => {
    expect(listsToAsk({ headsPerList: 1_000_000 }, { objectCount: 1000, repoObjects: 0 })).toBe(0);
  });
});

it('a store that took more than a second for a listing is slow for ten minutes', () => {
  const pace = new ListingPace();
  pace.note(1000, 0);
  expect(pace.isSlow(0)).toBe(false);
  pace.note(1001, 5000);
  pace.note(10, 6000);
  expect([pace.isSlow(604_999), pace.isSlow(605_000)]).toEqual([true, false]);
});

const objects = (count: number, bytes = 1) =>
  new Map(Array.from({ length: count }, (_, index) => [`oid${index}`, bytes]));

describe('what was listed', () => {
  it('is known of its repo for a minute', () => {
    const known = new KnownObjects();
    known.keep('acme/app/', { objects: objects(3), listedAtMs: 1000 });
    expect(known.of('acme/app/', 61_000)).toEqual(objects(3));
    expect(known.of('acme/app2/', 1000)).toBeUndefined();
    expect(known.of('acme/app/', 61_001)).toBeUndefined();
    expect(known.of('acme/app/', 1000)).toBeUndefined();
  });

  it('can be asked for only if it is younger, and is kept for others', () => {
    const known = new KnownObjects();
    known.keep('a/', { objects: objects(3), listedAtMs: 1000 });
    expect(known.of('a/', 6000, 5000)).toEqual(objects(3));
    expect(known.of('a/', 6001, 5000)).toBeUndefined();
    expect(known.of('a/', 6001)).toEqual(objects(3));
  });

  it('is forgotten when something of it is deleted', () => {
    const known = new KnownObjects();
    for (const path of ['a/', 'b/']) known.keep(path, { objects: objects(3), listedAtMs: 0 });
    known.forget('a/');
    expect(known.of('a/', 0)).toBeUndefined();
    expect(known.of('b/', 0)).toEqual(objects(3));
  });

  it('is replaced by a later listing', () => {
    const known = new KnownObjects();
    known.keep('a/', { objects: objects(2), listedAtMs: 0 });
    known.keep('a/', { objects: objects(1, 7), listedAtMs: 50_000 });
    expect(known.of('a/', 100_000)).toEqual(objects(1, 7));
    known.keep('a/', { objects: objects(20_001), listedAtMs: 60_000 });
    expect(known.of('a/', 60_000)).toBeUndefined();
  });

  it('lacks what it had not, as long as no URL for it was handed out', () => {
    const known = new KnownObjects();
    known.offer('a/', ['early']);
    expect(known.lacks('a/', 'new', 0)).toBe(false);
    known.keep('a/', { objects: objects(2), listedAtMs: 0 });
    known.offer('a/', ['offered', 'x']);
    const lacked = ['new', 'oid0', 'offered', 'early'].filter((oid) => known.lacks('a/', oid, 60_000));
    expect(lacked).toEqual(['new', 'early']);
    expect(known.lacks('b/', 'new', 0)).toBe(false);
    // It may have been under way while the repo was listed again.
    known.keep('a/', { objects: objects(1), listedAtMs: 50_000 });
    expect(['offered', 'oid1'].map((oid) => known.lacks('a/', oid, 60_000))).toEqual([false, true]);
    expect(known.lacks('a/', 'new', 110_001)).toBe(false);
  });

  it('counts the offered objects in its bound', () => {
    const known = new KnownObjects();
    known.keep('a/', { objects: objects(19_999), listedAtMs: 0 });
    known.offer('a/', ['x']);
    expect(known.lacks('a/', 'y', 0)).toBe(true);
    known.offer('a/', ['x', 'z']);
    expect(known.lacks('a/', 'y', 0)).toBe(false);
  });

  it('is kept of at most 20,000 repos with nothing in them, at no cost for each that is kept', () => {
    const known = new KnownObjects();
    const path = (index: number) => `acme/new-${index}/`;
    for (let index = 0; index < 20_000; index += 1)
      known.keep(path(index), { objects: objects(0), listedAtMs: 0 });
    expect(known.of(path(0), 0)).toEqual(objects(0));
    known.keep('acme/one-more/', { objects: objects(0), listedAtMs: 0 });
    expect(known.of(path(0), 0)).toBeUndefined();
    expect(known.of(path(1), 0)).toEqual(objects(0));
  });

  it('leaves its place to others once it is forgotten, replaced or too old', () => {
    const known = new KnownObjects();
    const keep = (path: string, count: number, listedAtMs = 0) =>
      known.keep(path, { objects: objects(count), listedAtMs });
    keep('a/', 20_000);
    known.forget('a/');
    known.forget('a/');
    keep('b/', 10_000);
    keep('b/', 5000);
    known.offer('b/', ['x', 'y']);
    known.offer('b/', ['x']);
    keep('c/', 14_998, 61_000);
    expect(known.of('b/', 0)?.size).toBe(5000);
    expect(known.of('b/', 60_001)).toBeUndefined();
    keep('d/', 5002, 61_000);
    expect(known.of('c/', 61_000)?.size).toBe(14_998);
    keep('e/', 1, 61_000);
    expect(known.of('c/', 61_000)).toBeUndefined();
  });

  it('is kept of at most 20,000 objects: the oldest go first', () => {
    const known = new KnownObjects();
    for (const [index, path] of ['a/', 'b/', 'c/'].entries())
      known.keep(path, { objects: objects(8000), listedAtMs: index });
    known.keep('d/', { objects: objects(4000), listedAtMs: 3 });
    expect(['a/', 'b/', 'c/', 'd/'].map((path) => known.of(path, 3)?.size)).toEqual([
      undefined,
      8000,
      8000,
      4000,
    ]);
    known.keep('e/', { objects: objects(20_000), listedAtMs: 4 });
    expect(['b/', 'c/', 'd/', 'e/'].map((path) => known.of(path, 4)?.size)).toEqual([
      undefined,
      undefined,
      undefined,
      20_000,
    ]);
  });
});
