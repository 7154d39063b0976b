import { describe, expect, it } from 'vitest';
import {
  formatBytes,
  formatPercent,
  isByteCount,
  parseSize,
} from '../../../../../lambda/core/rules/sizes.ts';

describe('a share', () => {
  it.each([
    [0, 10, '0%'],
    [0, 0, '100%'],
    [1, 10_000, '0.1%'],
    [1, 2, '50.0%'],
    [9_999_999, 10_000_000, '99.9%'],
    [10, 10, '100%'],
    [10_000_001, 10_000_000, '100.1%'],
    [3, 2, '150.0%'],
    [1, 0, 'over 100%'],
  ])('of %i in %i is %s', (part, whole, text) => {
    expect(formatPercent(part, whole)).toBe(text);
  });
});

const most = Number.MAX_SAFE_INTEGER;

describe('a size', () => {
  it.each([
    ['500000 B', 500_000],
    ['0.0', 0],
    ['0', 0],
    ['17b', 17],
    ['2kB', 2000],
    ['3 MB', 3e6],
    ['1.5 GB', 1.5e9],
    ['4TB', 4e12],
    ['5pb', 5e15],
    ['2KiB', 2048],
    ['10MiB', 10 * 1024 ** 2],
    ['1GiB', 1024 ** 3],
    ['1.25tib', 1.25 * 1024 ** 4],
    ['7PIB', 7 * 1024 ** 5],
    [' \t12 \t KB ', 12_000],
    ['0.4 B', 0],
    ['10.06b', 10],
    [`${most}B`, most],
  ])('%j is %i bytes', (text, bytes) => {
    expect(parseSize(text)).toEqual({ bytes });
  });

  it.each([
    '',
    'GiB',
    '-1',
    '+1',
    '1.',
    '.5',
    '1e3',
    '1,5 GB',
    '1 2',
    '1 GiB!',
    '1 EB',
    'x1',
    '1 K B',
    '8PiB',
  ])('is not what %j says', (text) => {
    expect(parseSize(text)).toEqual({ problem: 'Use a size below 8 PiB, such as 500MB, 1GiB or 1.5TiB.' });
  });

  it.each(['10', '1.5', '500000', ' 7 '])('needs a unit: %j has none', (text) => {
    const digits = text.trim();
    expect(parseSize(text)).toEqual({ problem: `"${digits}" has no unit. Did you mean ${digits}GiB?` });
  });

  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [-1536, '-1.5 KiB'],
    [1024 ** 2 - 1, '1024 KiB'],
    [1024 ** 2, '1 MiB'],
    [1.239 * 1024 ** 3, '1.24 GiB'],
    [1024 ** 4, '1 TiB'],
    [most, '8 PiB'],
    [1024 ** 6, '1024 PiB'],
  ])('of %d bytes is shown as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it('is a whole number from 0 up to which numbers are exact', () => {
    for (const value of [0, 1, most]) expect(isByteCount(value)).toBe(true);
    for (const value of [-1, 0.5, most + 1, Number.NaN, '1', null, undefined, 1n])
      expect(isByteCount(value)).toBe(false);
  });
});
