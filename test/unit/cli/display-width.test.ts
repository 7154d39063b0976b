import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellsOf, displayWidth, shortened, wrapped } from '../../../cli/terminal.ts';

describe('the cells of a text', () => {
  it.each([
    ['', 0],
    ['plain text', 10],
    ['café', 4],
    ['cafe\u0301', 4],
    ['日本語', 6],
    ['ｱｲｳ', 3],
    ['한국', 4],
    ['𠀀', 2],
    ['a\u200bb', 2],
    ['🎮', 2],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['❤', 1],
    ['→ …', 3],
    ['█▒·', 3],
  ])('%j: %i', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('a text cell by cell', () => {
  it('has an empty cell behind what takes two, and none for what takes none', () => {
    expect(cellsOf('a日🎮e\u0301\u200b.')).toEqual(['a', '日', '', '🎮', '', 'e\u0301', '.']);
  });
});

describe('a text that is too long', () => {
  it.each([
    ['short', 5, 'short'],
    ['0123456789', 7, '012…789'],
    ['0123456789', 6, '012…89'],
    ['0123456789', 2, '0…'],
    ['0123456789', 1, '…'],
    ['0123456789', 0, ''],
    ['日本語日本語', 6, '日…語'],
    ['日本語日本語', 7, '日本…語'],
    ['日本語日本語', 8, '日本…語'],
    ['e\u0301'.repeat(6), 3, 'e\u0301…e\u0301'],
  ])('%j in %i cells is %j', (text, width, short) => {
    expect(shortened(text, width)).toBe(short);
  });

  it('never takes more than it may, and breaks no letter', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, width) => {
        const short = shortened(text, width);
        expect(displayWidth(short)).toBeLessThanOrEqual(Math.max(width, 0));
        if (displayWidth(text) <= width) expect(short).toBe(text);
      }),
    );
  });

  it('goes on in the next line, by words', () => {
    expect(wrapped('limitBytes: 10 → 20, plan: team', 12)).toEqual(['limitBytes:', '10 → 20,', 'plan: team']);
    expect(wrapped('a 0123456789 b', 5)).toEqual(['a', '01…89', 'b']);
    expect(wrapped('', 5)).toEqual(['']);
  });
});
