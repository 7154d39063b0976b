import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  consequence,
  isUnchanged,
  limitOf,
  sizeUnits,
  typedLimit,
} from '../../../console/src/views/limit.ts';

const gib = 1024 ** 3;
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('a limit as it is typed', () => {
  it.each([
    [null, { number: '', unit: 'GiB', isNone: true }],
    [0, { number: '0', unit: 'B', isNone: false }],
    [2 * 1024 ** 4, { number: '2', unit: 'TiB', isNone: false }],
    [1.5 * gib, { number: '1.5', unit: 'GiB', isNone: false }],
    [2_500_000, { number: '2.38', unit: 'MiB', isNone: false }],
  ])('of %s is written as everywhere', (bytes, typed) => {
    expect(typedLimit(bytes)).toEqual(typed);
  });

  it('sends the number times its unit', () => {
    const number = fc.integer({ min: 1, max: 8000 });
    fc.assert(
      fc.property(number, fc.integer({ min: 0, max: 4 }), (count, power) => {
        const typed = { number: String(count), unit: sizeUnits[power] ?? 'B', isNone: false };
        expect(limitOf(typed)).toBe(count * 1024 ** power);
      }),
    );
  });

  it('is no limit only by its box', () => {
    expect(limitOf({ number: '10', unit: 'GiB', isNone: true })).toBe(null);
    for (const number of ['', ' ', 'ten', '-1', '1e3', '10 GiB', '9000000'])
      expect(limitOf({ number, unit: 'PiB', isNone: false }), number).toBe(undefined);
  });

  it('is unchanged as it was proposed, whatever was rounded', () => {
    fc.assert(
      fc.property(fc.option(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })), (bytes) => {
        expect(isUnchanged(typedLimit(bytes), bytes)).toBe(true);
      }),
    );
    expect(isUnchanged({ number: '2', unit: 'GiB', isNone: false }, 2 * 1024 ** 4)).toBe(false);
    expect(isUnchanged({ number: '2', unit: 'TiB', isNone: true }, 2 * 1024 ** 4)).toBe(false);
    expect(isUnchanged({ number: '2', unit: 'TiB', isNone: false }, null)).toBe(false);
  });

  it.each([
    [undefined, '10 GiB in use.'],
    [null, '10 GiB in use.'],
    [12 * gib, '10 GiB in use: 2 GiB free.'],
    [10 * gib, '10 GiB in use: 0 B free.'],
    [4 * gib, '10 GiB in use: 6 GiB more than this. Pushes fail.'],
  ])('of %s says what it would do', (limitBytes, text) => {
    const said = consequence({ limitBytes, usedBytes: 10 * gib, used: 'in use', below: 'Pushes fail.' });
    expect(plain(said)).toBe(text);
  });
});
