import { describe, expect, it } from 'vitest';
import { decodeCandidates, encodeCandidates } from '../../../../../lambda/domain/cleanup/candidates.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];

describe('a file of candidates', () => {
  it('says what it was told', () => {
    const candidates = [
      { oid: a, sizeBytes: 0 },
      { oid: b, sizeBytes: 5 * 1024 ** 3 },
    ];
    expect(encodeCandidates(candidates).toString()).toBe(`${a} 0\n${b} 5368709120\n`);
    expect(decodeCandidates(encodeCandidates(candidates))).toEqual(candidates);
    expect(decodeCandidates(encodeCandidates([]))).toEqual([]);
  });

  it.each([`${a} 1`, `${a} 1\n${b}`])('that is not whole deletes nothing: %j', (text) => {
    expect(decodeCandidates(Buffer.from(text))).toBeUndefined();
  });

  it.each([
    ...[`${a} x\n`, `${a.slice(1)} 1\n`, `${a}a 1\n`, `${a}\n`, `${a} \n`, '\n', `${a} 1.5\n`, `${a} -1\n`],
    ...[`${a} 1e3\n`, `${a} 9007199254740992\n`, `${a} 1 2\n`, ` ${a} 1\n`, `${a} 1\n\n`],
  ])('with a line that is none deletes nothing: %j', (text) => {
    expect(decodeCandidates(Buffer.from(text))).toBeUndefined();
  });

  it('is read from within a larger buffer', () => {
    const bytes = Buffer.from(`xx${a} 1\nyy`);
    expect(decodeCandidates(bytes.subarray(2, -2))).toEqual([{ oid: a, sizeBytes: 1 }]);
  });
});
