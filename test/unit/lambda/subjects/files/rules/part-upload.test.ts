import { expect, it } from 'vitest';
import { defaultSettings } from '../../../../../../lambda/core/rules/settings.ts';
import {
  fileBytesMax,
  isInParts,
  partBytesOf,
  partCountOf,
  partsMax,
  partsOf,
} from '../../../../../../lambda/subjects/files/rules/part-upload.ts';

const [mib, gib] = [1024 ** 2, 1024 ** 3];

it.each([
  [100 * mib, 20],
  [100 * mib + 1, 21],
  [6 * gib, 100],
  [500 * gib, 100],
  [501 * gib, 101],
  [fileBytesMax(defaultSettings), 1000],
])('a file of %i bytes has %i parts, which add up to it', (sizeBytes, count) => {
  const partBytes = partBytesOf(defaultSettings, sizeBytes);
  const parts = [...partsOf({ sizeBytes, partBytes }).values()];
  expect([parts.length, partCountOf(defaultSettings, sizeBytes)]).toEqual([count, count]);
  expect(parts.reduce((sum, bytes) => sum + bytes, 0)).toBe(sizeBytes);
  expect(parts.slice(0, -1).every((bytes) => bytes === partBytes && bytes >= 5 * mib)).toBe(true);
  expect(Math.max(...parts)).toBeLessThanOrEqual(5 * gib);
  expect(count).toBeLessThanOrEqual(partsMax);
});

it.each([
  [5 * gib, undefined, false],
  [5 * gib + 1, undefined, true],
  [5 * gib + 1, false, true],
  [100 * mib, true, true],
  [100 * mib - 1, true, false],
  [100 * mib, undefined, false],
])('a file of %i bytes goes in parts, if asked for: %s', (bytes, inParts, expected) => {
  expect(isInParts(defaultSettings, { bytes, inParts })).toBe(expected);
});

it.each([
  [{}, 5_000 * gib],
  [{ chunkedBytesMax: 0 }, 5 * gib],
  [{ objectBytesMax: 5 * mib }, 1_024 * 5 * mib],
  // No part that isn't the last could be as small.
  [{ objectBytesMax: 5 * mib - 1 }, 5 * mib - 1],
])('with %o, files have up to %i bytes', (settings, expected) => {
  expect(fileBytesMax({ ...defaultSettings, ...settings })).toBe(expected);
});
