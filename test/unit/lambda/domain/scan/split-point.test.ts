import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../../lambda/domain/key-order.ts';
import { Alphabet } from '../../../../../lambda/domain/scan/alphabet.ts';
import { noteCut, splitPoint } from '../../../../../lambda/domain/scan/split-point.ts';

function alphabetOf(names: readonly string[]): Alphabet {
  const alphabet = new Alphabet();
  alphabet.note({ count: names.length, at: (index) => names[index] ?? '' });
  return alphabet;
}

describe('a range without an end is cut', () => {
  const page = { first: 'photos/000000', after: 'photos/000999', last: null };
  const alphabet = () => alphabetOf([page.first, 'photos/000500', page.after]);

  it('in the middle of the numbers that the next digit allows', () => {
    expect(splitPoint(alphabet(), page)).toEqual({ name: 'photos/005', level: 9 });
  });

  it('farther ahead if a cut at that place began it', () => {
    expect(splitPoint(alphabet(), { ...page, level: 9 })).toEqual({ name: 'photos/05', level: 8 });
    expect(splitPoint(alphabet(), { ...page, level: 7 })).toEqual({ name: 'photos0', level: 6 });
  });

  it('no farther than names were found to reach', () => {
    const known = alphabet();
    noteCut(known, { name: 'photos/005', level: 9 }, 'videos/1');
    expect(splitPoint(known, page)).toEqual({ name: 'photos/003', level: 9 });
    noteCut(known, { name: 'photos/003', level: 9 }, 'photos/003001');
    expect(splitPoint(known, page)).toEqual({ name: 'photos/003', level: 9 });
  });
});

describe('a range with an end is cut', () => {
  it('in the middle of the characters by which its ends differ', () => {
    const page = { first: '2019/01/01', after: '2019/01/31', last: '2019/09' };
    expect(splitPoint(alphabetOf([page.first, page.after]), page)?.name).toBe('2019/05');
  });

  it('not if the page leaves little of it', () => {
    const page = { first: 'img-1000', after: 'img-1999', last: 'img-3' };
    expect(splitPoint(alphabetOf([page.first, page.after]), page)).toBeUndefined();
  });
});

it('a cut is always between the name and the end of the range, and never halves a character', () => {
  const anyName = fc.string({ unit: fc.constantFrom(...'019/aébZ.日\uffee😀\u{10ffff}'), maxLength: 12 });
  fc.assert(
    fc.property(
      fc.array(anyName, { minLength: 2, maxLength: 20 }),
      fc.option(anyName),
      fc.option(fc.nat(12)),
      (names, last, level) => {
        const sorted = names.sort(compareKeys);
        const page = { first: sorted[0] ?? '', after: sorted.at(-1) ?? '', last };
        const cut = splitPoint(alphabetOf(sorted), { ...page, ...(level !== null && { level }) });
        if (cut === undefined) return;
        expect(compareKeys(cut.name, page.after)).toBeGreaterThan(0);
        if (last !== null) expect(compareKeys(cut.name, last)).toBeLessThan(0);
        expect(Buffer.from(cut.name).toString()).toBe(cut.name);
      },
    ),
    { numRuns: 2000 },
  );
});
