import { describe, expect, it } from 'vitest';
import { areSpreadEvenly } from '../../../../../lambda/domain/scan/evenness.ts';
import { hashNames } from '../../../../support/round-listing.ts';

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
