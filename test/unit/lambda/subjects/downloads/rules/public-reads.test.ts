import { describe, expect, it } from 'vitest';
import { publicBytesOf } from '../../../../../../lambda/subjects/downloads/rules/public-reads.ts';

describe('a public repo', () => {
  it('counts what it costs to look for an object, however small', () => {
    const of = (...sizes: number[]) => publicBytesOf(new Map(sizes.map((size, index) => [`${index}`, size])));
    expect(of()).toBe(0);
    expect(of(0, 1, 4096)).toBe(3 * 4096);
    expect(of(4097, 1_000_000)).toBe(1_004_097);
  });
});
