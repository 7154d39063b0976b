import { describe, expect, it } from 'vitest';
import type { ListedPage } from '../../../../../lambda/ports/object-listing.ts';
import { PageTrail } from '../../../../../lambda/use-cases/scan/page-trail.ts';

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

/** Follows pages without keys, each requested by the token of the one before. @returns how many it followed. */
function followTokens(tokenAt: (index: number) => string, pagesMax: number): number {
  const trail = new PageTrail();
  for (let index = 0; index < pagesMax; index += 1) {
    try {
      trail.follow(pageOf([], tokenAt(index)), index === 0 ? undefined : tokenAt(index - 1));
    } catch (error) {
      expect(String(error)).toMatch(/StoreUnavailableError.*repeats a continuation token/);
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

  it('ends where a page begins with a key of the page before, pages without keys between them or not', () => {
    const begin = () => {
      const trail = new PageTrail();
      trail.follow(pageOf(['b', 'a', 'ü'], '1'), undefined);
      return trail;
    };
    begin().follow(pageOf(['A', 'z']), '1');
    for (const key of ['b', 'a', 'ü']) {
      expect(() => begin().follow(pageOf([key, 'z']), '1')).toThrow(/same key on two pages/);
      const trail = begin();
      trail.follow(pageOf([], '2'), '1');
      expect(() => trail.follow(pageOf([key, 'z']), '2')).toThrow(/same key on two pages/);
    }
  });
});
