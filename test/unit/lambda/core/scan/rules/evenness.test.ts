import { describe, expect, it } from 'vitest';
import { areSpreadEvenly, FolderDensities } from '../../../../../../lambda/core/scan/rules/evenness.ts';
import { keySpaceSize } from '../../../../../../lambda/core/scan/rules/key-space.ts';
import type { ListedNames } from '../../../../../../lambda/core/scan/rules/uneven-ranges.ts';
import { hashNames } from '../../../../../support/round-listing.ts';

describe('evenness', () => {
  /** The first page of names. */
  function pageOf(all: readonly string[]) {
    const names = [...all].sort().slice(0, 1000);
    return { count: names.length, at: (index: number) => names[index] ?? '' };
  }

  const wholePath = { after: null, folder: '' };
  const numbers = (step: number, radix = 10) =>
    Array.from({ length: 5000 }, (_, index) => (index * step).toString(radix).padStart(8, '0'));

  describe('names are spread evenly if they are', () => {
    it.each([1001, 4000, 10_000])('%i hashes', (count) => {
      for (let seed = 1; seed <= 8; seed += 1) {
        expect(areSpreadEvenly(pageOf(hashNames(count, seed)), wholePath)).toBe(true);
      }
    });

    it('1,000,000 hashes, of which these are the first', () => {
      for (let seed = 1; seed <= 8; seed += 1) {
        const names = hashNames(4000, seed).map((name) => `00${name.slice(2)}`);
        expect(areSpreadEvenly(pageOf(names), wholePath)).toBe(true);
      }
    });

    it('hashes in a folder, from its beginning', () => {
      const names = hashNames(5000, 3).map((name) => `a/b/${name}`);
      expect(areSpreadEvenly(pageOf(names), { after: null, folder: 'a/b/' })).toBe(true);
      expect(areSpreadEvenly(pageOf(names), wholePath)).toBe(false);
    });

    it('hashes after a position', () => {
      const names = hashNames(20_000, 4).filter((name) => name > '8');
      expect(areSpreadEvenly(pageOf(names), { after: '8', folder: '' })).toBe(true);
      expect(areSpreadEvenly(pageOf(names), wholePath)).toBe(false);
    });

    it('the first digits of hashes with a name', () => {
      const names = hashNames(5000, 5).map((name) => `${name.slice(0, 6)}-photo.jpg`);
      expect(areSpreadEvenly(pageOf(names), wholePath)).toBe(true);
    });

    it('too few to tell', () => {
      expect(areSpreadEvenly(pageOf(['1', '5', '9']), wholePath)).toBe(true);
    });
  });

  describe('names are not spread evenly if they are', () => {
    it.each([
      ['numbers', numbers(1)],
      ['every third number', numbers(3)],
      ['every 61st number', numbers(61)],
      ['numbers in hex', numbers(1, 16)],
      ['every seventh number in hex', numbers(7, 16)],
      ['hashes that begin with one digit', hashNames(5000, 6).map((name) => `a${name.slice(1)}`)],
      ['words', Array.from({ length: 5000 }, (_, index) => `photo ${index}.jpg`)],
    ])('%s', (_, names) => {
      expect(areSpreadEvenly(pageOf(names), wholePath)).toBe(false);
    });

    it('hashes in a folder for their first digits', () => {
      const names = hashNames(5000, 7).map((name) => `00/00${name.slice(2)}`);
      expect(areSpreadEvenly(pageOf(names), { after: null, folder: '00/' })).toBe(false);
    });
  });
});

describe('folder densities', () => {
  const listed = (names: readonly string[]): ListedNames => ({
    count: names.length,
    at: (index) => names[index] ?? '',
  });
  const hashes = listed(hashNames(1000, 1).sort());
  const numbers = listed(
    Array.from({ length: 1000 }, (_, index) => `photo-${String(index).padStart(6, '0')}`),
  );
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
});
