import { describe, expect, it } from 'vitest';
import {
  fileNameBytesMax,
  fileNameFault,
  isFilePrefix,
} from '../../../../../../lambda/frame/access/rules/file-names.ts';

describe('the name of a file', () => {
  it.each([
    ...[
      'a',
      'a b',
      'a/b/c.png',
      'Café',
      'café',
      'CAFÉ',
      'a+b%2F&<>"\'',
      '日本語/😀.png',
      'constructor',
      '10',
      '.hidden',
    ],
    ...['a'.repeat(64), 'x'.repeat(fileNameBytesMax), 'é'.repeat(fileNameBytesMax / 2)],
  ])('is %j', (name) => {
    expect(fileNameFault(name)).toBeUndefined();
  });

  it.each([
    ['', /1 to 800 bytes/],
    ['x'.repeat(fileNameBytesMax + 1), /1 to 800 bytes/],
    ['é'.repeat(fileNameBytesMax / 2 + 1), /1 to 800 bytes/],
    ...['a\u0000b', 'a\nb', 'a\u0085', 'a\\b', '\ud800', '\u2028'].map((name) => [name, /control/] as const),
    ['cafe\u0301', /NFC/],
    ...['/a', 'a/', 'a//b', '../x', 'a/./b', 'a/..'].map((name) => [name, /segments/] as const),
    ...['__proto__', '_parts/x', 'a/_b', ' a', 'a ', 'a/ b', 'a.', 'a./b'].map(
      (name) => [name, /start with _/] as const,
    ),
  ] as const)('is not %j', (name, fault) => {
    expect(fileNameFault(name)).toMatch(fault);
  });

  it('is none that a map loses', () => {
    for (const name of Object.getOwnPropertyNames(Object.prototype))
      expect(fileNameFault(name) === undefined || name.startsWith('_'), name).toBe(true);
  });
});

describe('what a name begins with', () => {
  it.each(['', 'a', 'a/', 'a/b', 'a.', 'a ', 'a/.', 'x'.repeat(fileNameBytesMax)])('can be %j', (text) => {
    expect(isFilePrefix(text)).toBe(true);
  });

  it.each(['/', 'a//', '_', 'a/_b', '../', 'a\\', '\ud800', 'x'.repeat(fileNameBytesMax + 1)])(
    'is never %j',
    (text) => {
      expect(isFilePrefix(text)).toBe(false);
    },
  );
});
