import { describe, expect, it } from 'vitest';
import { isPublic, publicBytesOf } from '../../../../lambda/domain/public-read.ts';

const publicRead = { repo: 'game', monthlyLimitBytes: 1, sinceMs: 100 };

describe('a public repo', () => {
  it('is public while it is open, whether or not it was counted', () => {
    expect(isPublic(publicRead, undefined)).toBe(true);
    expect(isPublic(publicRead, { closedAtMs: null })).toBe(true);
    expect(isPublic(publicRead, { closedAtMs: 200 })).toBe(false);
  });

  it('is not once it was deleted after that, whatever is still written down', () => {
    expect(isPublic(publicRead, { closedAtMs: null, endedClosingMs: 99 })).toBe(true);
    expect(isPublic(publicRead, { closedAtMs: null, endedClosingMs: 100 })).toBe(false);
    expect(isPublic(publicRead, { closedAtMs: null, endedClosingMs: 101 })).toBe(false);
  });

  it('counts what it costs to look for an object, however small', () => {
    const of = (...sizes: number[]) => publicBytesOf(new Map(sizes.map((size, index) => [`${index}`, size])));
    expect(of()).toBe(0);
    expect(of(0, 1, 4096)).toBe(3 * 4096);
    expect(of(4097, 1_000_000)).toBe(1_004_097);
  });
});
