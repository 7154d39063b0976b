import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../../../lambda/core/rules/names.ts';
import {
  cutRange,
  type KeyRange,
  keySpaceSize,
  nameAt,
  positionOf,
  splitAtFolder,
  wholeKeySpace,
  widthOf,
} from '../../../../../../lambda/core/scan/rules/key-space.ts';

const anyName = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), maxLength: 20 }),
  fc.string({ unit: fc.constantFrom(...'09:@`afgz/A~é\u{10000}\uffff'), maxLength: 16 }),
);
const anyRange = fc.tuple(fc.option(anyName), fc.option(anyName)).map(([a, b]): KeyRange => {
  if (a === null || b === null) return { after: a, last: b };
  return compareKeys(a, b) <= 0 ? { after: a, last: b } : { after: b, last: a };
});

describe('a position', () => {
  it('never gets smaller as names get larger', () => {
    fc.assert(
      fc.property(anyName, anyName, (a, b) => {
        const [first, second] = compareKeys(a, b) <= 0 ? [a, b] : [b, a];
        expect(positionOf(first)).toBeLessThanOrEqual(positionOf(second));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['', 0],
    ['0', 0],
    ['8', keySpaceSize / 2],
    ['f'.repeat(64), keySpaceSize - 1],
    ['A', (keySpaceSize / 16) * 10],
    ['9~', (keySpaceSize / 16) * 10],
    ['/', 0],
    ['g', keySpaceSize],
  ])('of "%s" is %d', (name, position) => {
    expect(positionOf(name)).toBe(position);
  });

  it('has a name of 13 hex digits', () => {
    fc.assert(
      fc.property(fc.nat(keySpaceSize - 1), (position) => {
        expect(nameAt(position)).toMatch(/^[0-9a-f]{13}$/);
        expect(positionOf(nameAt(position))).toBe(position);
      }),
    );
  });
});

describe('the parts of a range', () => {
  const anyWeights = fc.array(fc.oneof(fc.nat(1000), fc.double({ min: 0, max: 1e9, noNaN: true })), {
    minLength: 1,
    maxLength: 20,
  });

  it('together are the range, and each name is in exactly one of them', () => {
    fc.assert(
      fc.property(anyRange, anyWeights, (range, weights) => {
        const parts = cutRange(range, weights).map((part) => part.range);
        expect(parts[0]?.after).toBe(range.after);
        expect(parts.at(-1)?.last).toBe(range.last);
        for (const [index, part] of parts.entries()) {
          if (index > 0) expect(part.after).toBe(parts[index - 1]?.last);
          if (part.after !== null && part.last !== null && parts.length > 1) {
            expect(compareKeys(part.after, part.last)).toBeLessThan(0);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('have widths in the ratio of their weights', () => {
    const parts = cutRange(wholeKeySpace, [1, 2, 1]);
    expect(parts.map((part) => widthOf(part.range) / keySpaceSize)).toEqual([0.25, 0.5, 0.25]);
    expect(parts.map((part) => part.weight)).toEqual([1, 2, 1]);
  });

  it('are cut by the names in a folder if the range is in one', () => {
    const { below, beyond } = splitAtFolder({ after: 'zz/0', last: null }, 'zz/');
    expect(beyond).toEqual({ after: 'zz0', last: null });
    const names = cutRange(below, [1, 1]).map((part) => part.range.last);
    expect(names).toEqual(['zz/8000000000000', 'zz0']);
    expect(splitAtFolder({ after: 'a/0', last: 'a/7' }, 'a/').beyond).toBeUndefined();
  });

  it('are a single part if names do not differ in position', () => {
    expect(cutRange({ after: 'photos/1', last: null }, [1, 1, 1])).toHaveLength(1);
  });
});
