import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../lambda/domain/key-order.ts';
import {
  endOfGap,
  nameLayouts,
  oidOfStoredName,
  storedAfter,
  storedBeginning,
  storedNameOf,
} from '../../../../lambda/domain/stored-names.ts';

const oid = 'abcdef'.padEnd(60, '0').concat('1234');
const hex = fc.constantFrom(...'0123456789abcdef');
const anyOid = fc.oneof(
  fc.string({ unit: hex, minLength: 64, maxLength: 64 }),
  // Near the edges of folders.
  fc
    .tuple(fc.constantFrom('0000', '00ff', 'ff00', 'ffff', 'abcd', 'abce'), fc.constantFrom('0', 'f', 'a'))
    .map(([first, rest]) => first + rest.repeat(60)),
);
const anyLayout = fc.constantFrom(...nameLayouts);
const odd = fc.constantFrom('/', '.', '~', '`', ':', 'g', 'A', '-', '\u{10000}', '\uffff', '\u{10ffff}', 'é');
/** Texts that are alike with an oid for a while. */
const anyText = fc.oneof(
  anyOid,
  fc.tuple(anyOid, fc.nat(70)).map(([text, length]) => text.slice(0, length)),
  fc
    .tuple(anyOid, fc.nat(64), fc.array(fc.oneof(odd, hex), { maxLength: 3 }))
    .map(([text, length, more]) => text.slice(0, length) + more.join('')),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
/** Names that are alike with a stored name for a while. */
const anyName = fc
  .tuple(anyLayout, anyOid, fc.nat(72), fc.array(fc.oneof(odd, hex), { maxLength: 3 }))
  .map(([layout, text, length, more]) => storedNameOf(layout, text).slice(0, length) + more.join(''));
const sign = (a: string, b: string) => Math.sign(compareKeys(a, b));

describe('the name of an object in the bucket', () => {
  it.each([
    ['oid', oid],
    ['ab/cd/rest', `ab/cd/${oid.slice(4)}`],
    ['ab/cd/oid', `ab/cd/${oid}`],
  ] as const)('in the layout %s is %s, and back', (layout, name) => {
    expect(storedNameOf(layout, oid)).toBe(name);
    expect(oidOfStoredName(layout, name)).toBe(oid);
  });

  it.each([
    ['oid', ''],
    ['oid', oid.slice(1)],
    ['oid', `${oid}.zstd`],
    ['oid', oid.toUpperCase()],
    ['oid', `ab/cd/${oid.slice(4)}`],
    ['ab/cd/rest', oid],
    ['ab/cd/rest', `ab/cd/${oid}`],
    ['ab/cd/rest', `ab/cd/${oid.slice(5)}`],
    ['ab/cd/rest', `ab-cd/${oid.slice(4)}`],
    ['ab/cd/rest', `ab/cd-${oid.slice(4)}`],
    ['ab/cd/rest', `tmp/upload/${oid.slice(4)}`],
    ['ab/cd/oid', `ab/ce/${oid}`],
    ['ab/cd/oid', `00/cd/${oid}`],
    ['ab/cd/oid', `ab/cd/${oid}/`],
  ] as const)('in the layout %s is never %s', (layout, name) => {
    expect(oidOfStoredName(layout, name)).toBeUndefined();
  });

  it('tells oids apart, and keeps their order', () => {
    fc.assert(
      fc.property(anyLayout, anyOid, anyOid, (layout, a, b) => {
        expect(oidOfStoredName(layout, storedNameOf(layout, a))).toBe(a);
        expect(sign(storedNameOf(layout, a), storedNameOf(layout, b))).toBe(sign(a, b));
      }),
    );
  });

  it('is of one oid at most, whatever it is', () => {
    fc.assert(
      fc.property(anyLayout, anyName, (layout, name) => {
        const found = oidOfStoredName(layout, name);
        if (found !== undefined) expect(storedNameOf(layout, found)).toBe(name);
      }),
    );
  });
});

describe('what names begin with', () => {
  it.each([
    ['', '', ''],
    ['a', 'a', 'a'],
    ['ab', 'ab/', 'ab/'],
    ['abc', 'ab/c', 'ab/c'],
    ['abcd', 'ab/cd/', 'ab/cd/abcd'],
    ['abcde', 'ab/cd/e', 'ab/cd/abcde'],
    [oid, `ab/cd/${oid.slice(4)}`, `ab/cd/${oid}`],
  ])('if their oids begin with "%s"', (beginning, rest, whole) => {
    expect(storedBeginning('oid', beginning)).toBe(beginning);
    expect(storedBeginning('ab/cd/rest', beginning)).toBe(rest);
    expect(storedBeginning('ab/cd/oid', beginning)).toBe(whole);
  });

  it.each(['g', 'A', 'ab/', 'ab/cd', `${oid}0`, '~'])(
    'is nothing if no oid begins with "%s"',
    (beginning) => {
      for (const layout of nameLayouts) expect(storedBeginning(layout, beginning)).toBeUndefined();
    },
  );

  it('holds for exactly those', () => {
    fc.assert(
      fc.property(anyLayout, anyOid, anyText, (layout, some, beginning) => {
        const begins = storedBeginning(layout, beginning);
        const isBegun = begins !== undefined && storedNameOf(layout, some).startsWith(begins);
        expect(isBegun).toBe(some.startsWith(beginning));
      }),
    );
  });
});

describe('where to go on after a text', () => {
  it.each([
    ['', '', ''],
    ['ab', 'ab', 'ab'],
    ['abc', 'ab/c', 'ab/c'],
    ['abcd', 'ab/cd', 'ab/cd'],
    ['abcde', 'ab/cd/e', 'ab/cd/abcde'],
    ['a\u{10000}b', 'a\u{10000}/b', 'a\u{10000}/b'],
  ])('"%s"', (text, rest, whole) => {
    expect(storedAfter('oid', text)).toBe(text);
    expect(storedAfter('ab/cd/rest', text)).toBe(rest);
    expect(storedAfter('ab/cd/oid', text)).toBe(whole);
  });

  it('leaves out no object behind it, and has none before it', () => {
    fc.assert(
      fc.property(anyLayout, anyOid, anyText, (layout, some, text) => {
        const isAfter = compareKeys(storedNameOf(layout, some), storedAfter(layout, text)) > 0;
        expect(isAfter).toBe(compareKeys(some, text) > 0);
      }),
      { numRuns: 500 },
    );
  });
});

describe('what a listing may skip', () => {
  it.each([
    // A folder that no object is in.
    ['ab/cd/rest', 'acme/game/1', 'ac~'],
    ['ab/cd/rest', 'zeta/game/1', '~'],
    ['ab/cd/rest', '_exports/1', '`~'],
    ['ab/cd/rest', '.tmp', '/~'],
    ['ab/cd/rest', 'ab/cd/tmp-1', 'ab/cd/~'],
    ['ab/cd/rest', 'ab.cd', 'ab.~'],
    ['ab/cd/rest', 'ab/c', 'ab/c'],
    ['ab/cd/oid', 'ab/cz', 'ab/c~'],
    ['oid', `${oid}.zstd`, `${oid}~`],
    // As long as an object's name, in the folder of another.
    ['ab/cd/oid', `ab/ce/${oid}`, `ab/ce/${oid}`],
    ['ab/cd/oid', `ab/ce/${oid}/1`, `ab/ce/${oid}~`],
    ['oid', 'Readme', '`~'],
  ] as const)('in the layout %s, from %s, goes to %s', (layout, name, end) => {
    expect(endOfGap(layout, name)).toBe(end);
  });

  it('never goes back, and never passes an object', () => {
    fc.assert(
      fc.property(anyLayout, anyName, anyOid, (layout, name, some) => {
        const end = endOfGap(layout, name);
        expect(compareKeys(end, name)).toBeGreaterThanOrEqual(0);
        const object = storedNameOf(layout, some);
        const isSkipped = compareKeys(object, name) > 0 && compareKeys(object, end) <= 0;
        expect(isSkipped).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});
