import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../../../lambda/core/rules/names.ts';
import {
  Alphabet,
  charactersOf,
  noteCut,
  splitPoint,
} from '../../../../../../lambda/core/scan/rules/uneven-ranges.ts';

describe('alphabet', () => {
  function alphabetOf(...names: string[]): Alphabet {
    const alphabet = new Alphabet();
    alphabet.note({ count: names.length, at: (index) => names[index] ?? '' });
    return alphabet;
  }

  const place = (depth: number, index: number) => ({ depth, index });

  it('a place is a character of a folder or file, whatever the lengths of the folders above', () => {
    expect(charactersOf('é/😀b').map(({ character, depth, index }) => [character, depth, index])).toEqual([
      ['é', 0, 0],
      ['/', 0, 1],
      ['😀', 1, 0],
      ['b', 1, 1],
    ]);
  });

  it('between two characters are those that were seen and those of the same row', () => {
    const alphabet = alphabetOf('2-', '4-', 'é-');
    expect(alphabet.between(place(0, 0), { above: '2', below: '6' })).toEqual(['3', '4', '5']);
    expect(alphabet.between(place(0, 0), { above: '6', below: undefined })).toEqual(['7', '8', '9', 'é']);
    expect(alphabet.between(place(5, 5), { above: 'é', below: undefined })).toEqual([]);
  });

  it('a row ends where names were found to end, except for what is seen', () => {
    const alphabet = alphabetOf('2', '8');
    alphabet.noteUnreached({ character: '5', ...place(0, 0) });
    alphabet.noteUnreached({ character: '7', ...place(0, 0) });
    expect(alphabet.between(place(0, 0), { above: '2', below: undefined })).toEqual(['3', '4', '8']);
  });

  it('a span is larger the more of the possible names it has, and largest without an end', () => {
    const alphabet = alphabetOf('a/000', 'a/555', 'b/999');
    const spans = [
      alphabet.span('a/005', 'a/009'),
      alphabet.span('a/005', 'a/05'),
      alphabet.span('a/0', 'b'),
      alphabet.span('b/9', null),
    ];
    expect([...spans].sort((a, b) => a - b)).toEqual(spans);
    expect(spans[0]).toBeGreaterThan(0);
  });

  it('a place varies if names were seen to differ there', () => {
    const alphabet = alphabetOf('ab', 'ac');
    expect([alphabet.varies(place(0, 0)), alphabet.varies(place(0, 1))]).toEqual([false, true]);
  });
});

describe('split point', () => {
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
});
