import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  decodeObjectList,
  distinctObjects,
  encodeObjectList,
  isMemberName,
  memberName,
  nameLike,
  wrongRequested,
} from '../../../../../../lambda/subjects/exports/rules/objects.ts';
import { anyCharacter } from '../../../../../support/any-character.ts';

describe('the name of an object in an archive', () => {
  it('is where git-lfs looks below .git', () => {
    const oid = `abcd${'0'.repeat(60)}`;
    const object = { oid, sizeBytes: 1, etag: '""', key: 'k' };
    expect(memberName(object)).toBe(`lfs/objects/ab/cd/${oid}`);
    expect(memberName({ ...object, name: 'images/ü.png' })).toBe('images/ü.png');
    expect(nameLike({ name: 'images/ü.png' })).toBe('images/ü.png');
    expect(nameLike({})).toHaveLength(memberName(object).length);
  });

  it.each(['a', 'a/b.c', 'Fotos/Übersicht 日本.png', '..a/b..', '😀', 'x'.repeat(4096)])(
    'may be %s',
    (name) => {
      expect(isMemberName(name)).toBe(true);
    },
  );

  it.each([
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    './a',
    'a\\b',
    'a\nb',
    'a\0',
    // The second one is "ESC [" to a terminal.
    'a\u0085b',
    'a\u009b2Jb',
    'a\u009f',
    '\ud800',
    'ä'.repeat(2049),
  ])('may not be %j', (name) => {
    expect(isMemberName(name)).toBe(false);
  });
});

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'lfs-quota-names-'));
  spawnSync('git', ['init', '-q', folder]);
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Which of these names git puts into no tree, on any file system. It says so, and goes on. */
function refusedByGit(names: readonly string[]): string[] {
  const lines = names.map((name) => `100644 ${'1'.repeat(40)} 0\t${name}\0`).join('');
  const protect = ['-c', 'core.protectHFS=true', '-c', 'core.protectNTFS=true'];
  const args = ['-C', folder, ...protect, 'update-index', '-z', '--index-info'];
  const { stderr, status } = spawnSync('git', args, { input: lines, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return [...stderr.matchAll(/^Ignoring path (.*)$/gm)].map(([, name = '']) => name);
}

describe('a name that git refuses in a tree', () => {
  it.each([
    '.git',
    '.git/config',
    '.GIT/config',
    '.gIt/hooks/post-checkout',
    'a/.git/config',
    'a/b/.Git',
    '.git./config',
    '.git /config',
    '.git . ./config',
    '.git::$INDEX_ALLOCATION/config',
    '.git:x',
    '.git. :$DATA',
    'git~1/config',
    'GIT~1/config',
    'a/Git~1',
    'git~1. /config',
    'git~1::$INDEX_ALLOCATION/config',
    '.g\u200cit/config',
    '\u200e.git/config',
    '.git\u202e/config',
    '.\u206aG\u206fi\ufeffT',
  ])('is refused: %j', (name) => {
    expect(isMemberName(name)).toBe(false);
    expect(refusedByGit([name])).toEqual([name]);
  });

  // Git on Windows refuses these two.
  it.each(['C:/x', 'c:x', 'ü:/x', '.git\\config'])('is refused, also one of Windows: %j', (name) => {
    expect(isMemberName(name)).toBe(false);
  });

  it.each([
    '.gitattributes',
    '.github/a.png',
    'git',
    'a.git/b',
    '.git2',
    '.git.png',
    '.git x',
    'git~2/a',
    'git~10',
    'agit~1',
    'x.git:',
    '.gi/t',
    '.g\u0130t',
    'config',
    'hooks/a.psd',
    'objects/a.fbx',
    'a/c:/x',
  ])('is no other: %j', (name) => {
    expect(isMemberName(name)).toBe(true);
    expect(refusedByGit([name])).toEqual([]);
  });

  it('is never taken, and only such a one is refused', () => {
    const piece = fc.constantFrom(
      ...['.', '.', 'g', 'G', 'i', 'I', 't', 'T', '.git', 'git', '~1', ' ', ':', '$', '/', '/', 'x'],
      ...['\u200c', '\u202a', '\u206f', '\ufeff', '\u2060', 'ü', '😀'],
    );
    const names = fc.sample(
      fc.array(piece, { minLength: 1, maxLength: 9 }).map((pieces) => pieces.join('')),
      { seed: 1, numRuns: 20_000 },
    );
    const distinct = [...new Set(names)].filter((name) => !/^.:/u.test(name));
    const refused = distinct.filter((name) => !isMemberName(name));
    expect(refused).toEqual(refusedByGit(distinct));
    expect([refused.length > 1000, distinct.length - refused.length > 1000]).toEqual([true, true]);
  });
});

describe('object list', () => {
  const oid = 'a'.repeat(64);

  it('keeps every object as it is, whatever its version and name', () => {
    const object = fc.record(
      {
        oid: fc.constant(oid),
        sizeBytes: fc.nat(),
        etag: fc.string({ unit: anyCharacter }),
        key: fc.constantFrom('acme/app/x', 'acme/My-App.1/y'),
        name: fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !/[\n\r]/.test(text)),
      },
      { requiredKeys: ['oid', 'sizeBytes', 'etag', 'key'] },
    );
    fc.assert(
      fc.property(fc.array(object), (objects) => {
        expect(decodeObjectList(encodeObjectList(objects))).toEqual(objects);
      }),
    );
  });

  it('is a line for each object', () => {
    const list = encodeObjectList([{ oid, sizeBytes: 5, etag: '"e-1"', key: 'acme/app/k', name: 'a b.bin' }]);
    expect(Buffer.from(list).toString()).toBe(`${oid} 5 %22e-1%22 acme/app/k a b.bin\n`);
  });

  it('keeps more lines than are joined at a time', () => {
    const objects = Array.from({ length: 100_001 }, (_, index) => ({
      oid,
      sizeBytes: index,
      etag: 'e',
      key: 'k',
    }));
    expect(decodeObjectList(encodeObjectList(objects)).at(-1)).toEqual(objects.at(-1));
  });

  it.each([`${oid} 5 e k`, `${oid} five e k\n`, `${oid} 5 e\n`, '\n'])('refuses %j', (text) => {
    expect(() => decodeObjectList(Buffer.from(text))).toThrow(/list of objects/);
  });
});

describe('requested objects', () => {
  const oid = (digit: string) => digit.repeat(64);
  const named = (...names: readonly (string | undefined)[]) =>
    names.map((name, index) => ({ oid: oid(index.toString(16)), name }));

  describe('a list of requested objects', () => {
    it.each([
      { names: ['a.psd', 'b/a.psd', 'b/b', undefined] },
      { names: ['a', 'a-b', 'a.b', 'a b', 'ab/c'] },
      { names: ['lfs/exports', 'lfs/objects/x'] },
      { names: ['console', 'a/null.c', 'com', 'com10.txt', 'auxiliary/x', 'a.b.c', '.x', 'a -- b/-c'] },
      { names: ['A/x', 'a/y', 'ß', 'Fotos/Übersicht 日本.png', '👩‍🚀.png', 'می‌خواهم.png', '😀'] },
    ])('may have the names $names', ({ names }) => {
      expect(wrongRequested(named(...names))).toBeUndefined();
    });

    it.each([
      { names: ['a', '../b'], index: 1, message: /relative path/ },
      { names: ['', 'b'], index: 0, message: /relative path/ },
      { names: ['a', 'b', 'a'], index: 2, message: /two objects/ },
      { names: ['a/b', 'c', 'a'], index: 0, message: /below the name of another/ },
      { names: ['a', 'a-b', 'a/b/c'], index: 2, message: /below the name of another/ },
      { names: ['lfs/export/manifest-1.json'], index: 0, message: /below lfs\/export/ },
      { names: ['lfs/export'], index: 0, message: /below lfs\/export/ },
      { names: [undefined, `lfs/objects/00/00/${oid('0')}`], index: 1, message: /two objects/ },
    ])('may not have the names $names', ({ names, index, message }) => {
      const wrong = wrongRequested(named(...names));
      expect(wrong).toMatchObject({ index, field: 'name', message: expect.stringMatching(message) });
    });

    // Each was a file name that Windows or macOS refuses, or that is another one there.
    it.each([
      ...[
        'CON',
        'nul',
        'com1',
        'LPT9.txt',
        'aux.c',
        'a/Aux.tar.gz/b',
        'prn .c',
        'COM¹',
        'conin$',
        'CONOUT$.x',
      ],
      ...['a.', 'a ', 'a./b', 'a /b', 'a/b. .', ' ', 'a*b', 'a|b', 'a?b', 'a<b', 'a>b', 'a"b', 'a/b:c'],
      ...['a\u202eb', 'a\u2066b', '\ufeffa', 'a\u200eb', 'a\u2028b', 'a\u00adb'],
      ...['--checkpoint-action=exec=sh', '-rf', '-'],
    ])('may not have the name %j, but an export that has it goes on', (name) => {
      expect(wrongRequested(named('x', name))).toEqual({
        index: 1,
        field: 'name',
        message: expect.stringContaining('that git, Windows and macOS take'),
      });
      const object = { oid: oid('a'), sizeBytes: 1, etag: '"e"', key: 'k', name };
      expect(decodeObjectList(encodeObjectList([object]))).toEqual([object]);
      expect(isMemberName(name)).toBe(true);
    });

    it.each([
      ['A/x', 'a/x'],
      ['á', 'a\u0301'],
      ['STRASSE', 'straße'],
      ['Ω', '\u2126'],
      ['ΟΔΟΣ/x', 'οδος/x'],
      ['\u212a', 'k'],
      ['A', 'a/b'],
      [`LFS/objects/11/11/${oid('1')}`, undefined],
    ])('may not have both %j and %j', (...names) => {
      expect(wrongRequested(named(...names))).toMatchObject({
        field: 'name',
        message: expect.stringMatching(/two objects, on Windows or macOS|below the name of another/),
      });
    });

    it.each(['LFS/export/a', 'lfs/EXPORT'])('may not have the name %s', (name) => {
      expect(wrongRequested(named(name))).toMatchObject({
        message: expect.stringMatching('below lfs/export'),
      });
    });

    it('has no oid twice', () => {
      const twice = [{ oid: oid('a'), name: 'a' }, { oid: oid('b') }, { oid: oid('a'), name: 'c' }];
      expect(wrongRequested(twice)).toMatchObject({ index: 2, field: 'oid' });
    });

    it('is looked at in time, however it is made', () => {
      const deep = Array.from({ length: 250 }, (_, index) => ({
        oid: index.toString(16).padStart(64, '0'),
        name: `${'a/'.repeat(2000)}${index}`,
      }));
      expect(wrongRequested(deep)).toBeUndefined();
    });
  });
});

const stored = (oid: string, repo: string, sizeBytes = 1) => ({
  oid: oid.padStart(64, '0'),
  sizeBytes,
  etag: '"e"',
  key: `acme/${repo}/${oid.padStart(64, '0')}`,
});

describe('distinctObjects', () => {
  it('has an oid of several repos once, from the first key', () => {
    const { objects, conflicts } = distinctObjects([
      stored('b', 'two'),
      stored('a', 'one'),
      stored('b', 'one'),
    ]);
    expect(objects).toEqual([stored('a', 'one'), stored('b', 'one')]);
    expect(conflicts).toEqual([]);
  });

  it('reports objects of one oid with another size', () => {
    const { objects, conflicts } = distinctObjects([stored('a', 'one', 5), stored('a', 'two', 6)]);
    expect(objects).toEqual([stored('a', 'one', 5)]);
    expect(conflicts).toEqual([stored('a', 'two', 6)]);
  });

  it('does not depend on the order of the list', () => {
    const object = fc
      .tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('x', 'y', 'z'))
      .map(([oid, repo]) => stored(oid, repo));
    fc.assert(
      fc.property(fc.array(object), (list) => {
        expect(distinctObjects([...list].reverse())).toEqual(distinctObjects(list));
        const oids = distinctObjects(list).objects.map(({ oid }) => oid);
        expect(oids).toEqual([...new Set(list.map(({ oid }) => oid))].sort());
      }),
    );
  });
});
