import { expect, it } from 'vitest';
import type { ListedNames } from '../../../../../lambda/domain/scan/alphabet.ts';
import { FolderDensities } from '../../../../../lambda/domain/scan/folder-densities.ts';
import { keySpaceSize } from '../../../../../lambda/domain/scan/key-space.ts';
import { hashNames } from '../../../../support/round-listing.ts';

const listed = (names: readonly string[]): ListedNames => ({
  count: names.length,
  at: (index) => names[index] ?? '',
});
const hashes = listed(hashNames(1000, 1).sort());
const numbers = listed(Array.from({ length: 1000 }, (_, index) => `photo-${String(index).padStart(6, '0')}`));
const whole = { after: null, last: null };
const sample = { keys: 1000, width: keySpaceSize };

it('a page of hashes shows that positions tell where names are; one of numbers does not', () => {
  const folders = new FolderDensities();
  expect(folders.isEven(whole, { names: numbers, sample })).toBe(false);
  expect(folders.hasEven).toBe(false);
  expect(folders.isEven(whole, { names: hashes, sample })).toBe(true);
  expect(folders.hasEven).toBe(true);
});

it('a folder that proved to be even stays so until a page contradicts it, and is then never even again', () => {
  const folders = new FolderDensities();
  folders.noteEven('');
  folders.of(whole).add(sample);
  // It is not asked what the names look like.
  expect(folders.isEven(whole, { names: numbers, sample })).toBe(true);
  const dense = { keys: 1000, width: 1 };
  expect(folders.isEven(whole, { names: numbers, sample: dense })).toBe(false);
  expect(folders.isRefuted(whole)).toBe(true);
  expect(folders.isEven(whole, { names: hashes, sample })).toBe(false);
});

it('a range that was left as uneven is never even', () => {
  const folders = new FolderDensities();
  expect(folders.isEven({ ...whole, isUneven: true }, { names: hashes, sample })).toBe(false);
  expect(folders.hasEven).toBe(false);
});

it('each folder has a density of its own', () => {
  const folders = new FolderDensities();
  const app = { after: null, last: null, folder: 'app/' };
  folders.of(app).add(sample);
  expect(folders.of(app)).toBe(folders.of({ ...app, after: 'app/a' }));
  expect(folders.of(app)).not.toBe(folders.of(whole));
  expect(folders.of(whole)).toBe(folders.of({ after: 'x', last: null }));
});
