import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isMemberName, memberName, nameLike } from '../../../../../lambda/domain/export/member-name.ts';

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
