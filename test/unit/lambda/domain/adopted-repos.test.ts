import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AdoptedRepo } from '../../../../lambda/domain/adopted-repo.ts';
import { AdoptedPathError, AdoptedRepos, keyIn } from '../../../../lambda/domain/adopted-repos.ts';
import { nameLayouts } from '../../../../lambda/domain/stored-names.ts';

const oid = 'abcd'.padEnd(64, '0');
const rest = oid.slice(4);
const game: AdoptedRepo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
const art: AdoptedRepo = { tenant: 'acme', repo: 'art', path: 'org/Art/', names: 'oid' };
const beta: AdoptedRepo = { tenant: 'beta', repo: 'game', path: 'rudolfs/a/b/', names: 'ab/cd/oid' };
const repos = new AdoptedRepos([game, beta, art]);
const wholeBucket = new AdoptedRepos([{ ...game, path: '' }]);

describe('the stored key', () => {
  it.each([
    [`acme/game/${oid}`, `lfs/ab/cd/${rest}`],
    [`acme/art/${oid}`, `org/Art/${oid}`],
    [`beta/game/${oid}`, `rudolfs/a/b/ab/cd/${oid}`],
    // Not adopted.
    [`acme/game2/${oid}`, `acme/game2/${oid}`],
    [`acme/${oid}`, `acme/${oid}`],
    [`other/game/${oid}`, `other/game/${oid}`],
    ['_exports/acme/1/a.zip', '_exports/acme/1/a.zip'],
    // Nothing but objects is stored for an adopted repo.
    ['acme/game/readme', undefined],
    ['acme/game/', undefined],
    [`acme/game/x/${oid}`, undefined],
  ])('of %s is %s', (key, stored) => {
    expect(repos.storedKey(key)).toBe(stored);
  });

  it.each([`lfs/ab/cd/${rest}`, 'lfs/x', 'org/Other/1', `rudolfs/x/${oid}`])(
    'of %s, which another tenant would have, does not exist',
    (key) => {
      expect(() => repos.storedKey(key)).toThrow(AdoptedPathError);
    },
  );

  it('of what lies at the root of the bucket does not exist', () => {
    expect(() => repos.storedKey(oid)).toThrow(AdoptedPathError);
    expect(() => wholeBucket.storedKey(`ab/cd/${rest}`)).toThrow(AdoptedPathError);
    expect(() => wholeBucket.storedKey('ab/x/1')).toThrow(AdoptedPathError);
    expect(wholeBucket.storedKey('abc/x/1')).toBe('abc/x/1');
    expect(wholeBucket.storedKey(`acme/game/${oid}`)).toBe(`ab/cd/${rest}`);
  });

  it('of every key leads back to it, and no two are the same', () => {
    const names = fc.constantFrom('acme', 'beta', 'other', 'abc');
    const oids = fc.string({ unit: fc.constantFrom(...'0af'), minLength: 64, maxLength: 64 });
    const keys = fc
      .tuple(names, fc.constantFrom('game', 'art', 'game2'), fc.oneof(oids, fc.constantFrom('x', '')))
      .map((parts) => parts.join('/'));
    const layouts = fc.constantFrom(...nameLayouts);
    fc.assert(
      fc.property(keys, keys, layouts, fc.constantFrom('lfs/', ''), (a, b, layout, path) => {
        const some = new AdoptedRepos([{ ...game, names: layout, path }]);
        const [storedA, storedB] = [some.storedKey(a), some.storedKey(b)];
        if (storedA !== undefined) expect(some.keyOf(storedA)).toBe(a);
        if (a !== b && storedA !== undefined) expect(storedA).not.toBe(storedB);
      }),
    );
  });
});

describe('the key of what is stored', () => {
  it.each([
    [`lfs/ab/cd/${rest}`, `acme/game/${oid}`],
    [`org/Art/${oid}`, `acme/art/${oid}`],
    [`rudolfs/a/b/ab/cd/${oid}`, `beta/game/${oid}`],
    [`other/game/${oid}`, `other/game/${oid}`],
    ['other/game/x', 'other/game/x'],
    // A file beside the folder.
    ['lfs', 'lfs'],
    // In an adopted path, without a name of its layout.
    ['lfs/ab/cd/tmp', undefined],
    ['lfs/x', undefined],
    ['org/Other/1', undefined],
    // Hidden below the repo's own path.
    [`acme/game/${oid}`, undefined],
    ['acme/game/x', undefined],
  ])('%s is %s', (stored, key) => {
    expect(repos.keyOf(stored)).toBe(key);
  });

  it('of a whole bucket leaves other tenants alone', () => {
    expect(wholeBucket.keyOf(`ab/cd/${rest}`)).toBe(`acme/game/${oid}`);
    expect(wholeBucket.keyOf('ab/cd/tmp')).toBeUndefined();
    expect(wholeBucket.keyOf(`beta/game/${oid}`)).toBe(`beta/game/${oid}`);
  });

  it('of one repo is of that repo alone', () => {
    expect(keyIn(game, `lfs/ab/cd/${rest}`)).toBe(`acme/game/${oid}`);
    expect(keyIn(game, `lfs2/ab/cd/${rest}`)).toBeUndefined();
    // As long as the path, and another.
    expect(keyIn(game, `lfx/ab/cd/${rest}`)).toBeUndefined();
    expect(keyIn(art, `lfs/ab/cd/${rest}`)).toBeUndefined();
  });
});

describe('adopted repos', () => {
  it('are found by what keys begin with', () => {
    expect(repos.at('acme/game/')).toBe(game);
    expect(repos.at('acme/game/ab')).toBe(game);
    expect(repos.at('acme/game')).toBeUndefined();
    expect(repos.at('acme/game2/')).toBeUndefined();
    expect(repos.below('acme/')).toEqual([art, game]);
    expect(repos.below('acme/g')).toEqual([game]);
    expect(repos.below('beta/game2')).toEqual([]);
    expect(repos.of('acme')).toEqual([art, game]);
    expect(repos.of('ac')).toEqual([]);
    expect(repos.all).toEqual([art, game, beta]);
  });

  it('reserve names of tenants', () => {
    expect(['lfs', 'org', 'rudolfs', 'acme', 'beta', 'ab'].filter((name) => repos.isReserved(name))).toEqual([
      'lfs',
      'org',
      'rudolfs',
    ]);
    expect(wholeBucket.isReserved('ab')).toBe(true);
  });

  it('let no key or prefix pass that could be of one of them, or of several tenants', () => {
    for (const prefix of ['', 'lfs', 'acme', 'lfs/', 'lfs/ab/', 'org/'])
      expect(() => repos.requireOwn(prefix), prefix).toThrow(AdoptedPathError);
    for (const prefix of ['acme/', 'lfs2/', 'other/game/', '_gc/acme/'])
      expect(() => repos.requireOwn(prefix), prefix).not.toThrow();
    expect(() => repos.requireOwn('lfs/ab/')).toThrow('What begins with lfs/ may be of an adopted repo.');
    expect(() => repos.requireOwn('lfs')).toThrow('What begins with no folder may be');
    expect(() => repos.requireOwn('lfs')).toThrow(expect.objectContaining({ name: 'AdoptedPathError' }));
  });
});
