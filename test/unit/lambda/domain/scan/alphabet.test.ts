import { expect, it } from 'vitest';
import { Alphabet, charactersOf } from '../../../../../lambda/domain/scan/alphabet.ts';

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
