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

  it.each([`${a} 1`, `${a} 1\n${b}`, `${a} x\n`, `${a.slice(1)} 1\n`, '\n', `${a} 1.5\n`])(
    'that is not whole deletes nothing: %j',
    (text) => {
      expect(() => decodeCandidates(Buffer.from(text))).toThrow(Error);
    },
  );
});
