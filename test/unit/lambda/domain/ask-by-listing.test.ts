import { describe, expect, it } from 'vitest';
import { ListingPace, listsToAsk } from '../../../../lambda/domain/ask-by-listing.ts';

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
