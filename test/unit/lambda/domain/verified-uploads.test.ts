import { describe, expect, it } from 'vitest';
import { uploadsToVerify } from '../../../../lambda/domain/verified-uploads.ts';

const large = 8 * 1024 ** 2;
const verified = (uploads: Readonly<Record<string, number>>, objects = Object.keys(uploads).length) => [
  ...uploadsToVerify(new Map(Object.entries(uploads)), { objects }),
];

describe('a client is asked to verify', () => {
  it('the last upload of the answer, whatever its size', () => {
    expect(verified({ a: 3, b: 2, c: 0 })).toEqual(['c']);
    expect(verified({ only: 1 })).toEqual(['only']);
  });

  it('and each of 8 MiB or more', () => {
    expect(verified({ a: large + 1, b: large, c: large - 1, d: 1 })).toEqual(['a', 'b', 'd']);
    expect(verified({ a: 1, b: large })).toEqual(['b']);
  });

  it('of a full batch of git-lfs only those, because another batch follows', () => {
    expect(verified({ a: 1, b: large, c: 1 }, 100)).toEqual(['b']);
    expect(verified({ a: 1, c: 1 }, 100)).toEqual([]);
    expect(verified({ a: 1, c: 1 }, 99)).toEqual(['c']);
    expect(verified({ a: 1, c: 1 }, 101)).toEqual(['c']);
  });

  it('nothing, if nothing is uploaded', () => {
    expect(verified({})).toEqual([]);
  });
});
