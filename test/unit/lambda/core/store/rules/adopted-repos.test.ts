import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../../../lambda/core/rules/names.ts';
import {
  AdoptedPathError,
  type AdoptedRepo,
  AdoptedRepos,
  adoptedPathCharactersMax,
  adoptedPathRule,
  adoptedReposFromJson,
  adoptedReposMax,
  adoptedReposToJson,
  conflictsOfAdopted,
  endOfGap,
  isAdoptedPath,
  isAdoptedRepo,
  isTakenBy,
  keyIn,
  nameLayouts,
  oidOfStoredName,
  storedAfter,
  storedBeginning,
  storedNameOf,
} from '../../../../../../lambda/core/store/rules/adopted-repos.ts';
import { anyCharacter } from '../../../../../support/any-character.ts';

const repo: AdoptedRepo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...repo, repo: `r${index}`, path: `lfs${index}/` }));

describe('the adopted repos of a stage', () => {
  it('go through the environment', () => {
    const repos = many(adoptedReposMax);
    expect(adoptedReposFromJson(adoptedReposToJson(repos))).toEqual(repos);
  });

  it('need no variable if there are none', () => {
    expect(adoptedReposToJson([])).toBeUndefined();
    expect(adoptedReposFromJson(undefined)).toEqual([]);
    expect(adoptedReposFromJson('[]')).toEqual([]);
  });

  it.each([
    ['', /aren't a JSON list/],
    ['{}', /aren't a JSON list/],
    ['null', /aren't a JSON list/],
    ['[null]', /Entry 1 of the adopted repos isn't \{tenant, repo, path, names\}/],
    [JSON.stringify([repo, { ...repo, path: 'x' }]), /Entry 2 .* path must be empty, or folders/],
    ['[7]', /Entry 1 .*; at most 150 characters; names is one of oid, ab\/cd\/rest, ab\/cd\/oid\.$/],
    [JSON.stringify([repo, repo]), /acme\/game is named twice/],
    [JSON.stringify(many(adoptedReposMax + 1)), /There are 21 adopted repos, of at most 20/],
  ])('are not taken from %s', (text, message) => {
    expect(() => adoptedReposFromJson(text)).toThrow(message);
  });
});

const gitea: AdoptedRepo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
const whole: AdoptedRepo = { tenant: 'acme', repo: 'art', path: '', names: 'ab/cd/rest' };

describe('the path of an adopted repo', () => {
  it('is empty, or folders of letters, digits and some others', () => {
    const paths = ['', 'lfs/', 'Org/Repo.git/', 'a/b/c/', '_x/', 'a+b=c@d-e_f/', '.../', 'a../'];
    const ends = ['/', 'lfs', '/lfs/', 'a//b/', './', '../', 'a/../', 'a/./'];
    const others = ['ä/', 'a b/', 'a*/', 'a?/', '$a/', 'a\n/'];
    expect([...paths, ...ends, ...others].filter(isAdoptedPath)).toEqual(paths);
  });

  it('has a greatest length, and its rule says so', () => {
    expect(adoptedPathRule).toContain('at most 150 characters');
    expect(isAdoptedPath(`${'a'.repeat(adoptedPathCharactersMax - 1)}/`)).toBe(true);
    expect(isAdoptedPath(`${'a'.repeat(adoptedPathCharactersMax)}/`)).toBe(false);
  });
});

describe('an adopted repo', () => {
  it('is one', () => {
    expect(isAdoptedRepo(gitea)).toBe(true);
    expect(isAdoptedRepo(whole)).toBe(true);
  });

  it.each([
    null,
    undefined,
    'lfs/',
    {},
    { ...gitea, tenant: 'Acme' },
    { ...gitea, tenant: 1 },
    { ...gitea, repo: '' },
    { ...gitea, repo: undefined },
    { ...gitea, path: 'lfs' },
    { ...gitea, path: null },
    { ...gitea, names: 'abcd' },
    { ...gitea, names: undefined },
    { ...gitea, prefix: 'lfs/' },
  ])('is not %j', (value) => {
    expect(isAdoptedRepo(value)).toBe(false);
  });
});

describe('names of tenants that an adopted path takes', () => {
  it.each<[Partial<AdoptedRepo>, string, boolean]>([
    [{ path: 'lfs/' }, 'lfs', true],
    [{ path: 'lfs/' }, 'lf', false],
    [{ path: 'lfs/' }, 'lfs2', false],
    [{ path: 'git/lfs/' }, 'git', true],
    [{ path: 'git/lfs/' }, 'lfs', false],
    [{ path: '' }, 'ab', true],
    [{ path: '', names: 'ab/cd/oid' }, '09', true],
    [{ path: '' }, 'abc', false],
    [{ path: '' }, 'ag', false],
    // Its keys have no slash, so no tenant's key is one of them.
    [{ path: '', names: 'oid' }, 'ab', false],
  ])('%j and %s: %s', (changed, tenant, isTaken) => {
    expect(isTakenBy({ ...gitea, ...changed }, tenant)).toBe(isTaken);
  });
});

describe('adopted repos', () => {
  const others: AdoptedRepo[] = [
    { tenant: 'acme', repo: 'old', path: 'giftless/acme/', names: 'oid' },
    { tenant: 'beta', repo: 'game', path: 'lfs2/', names: 'ab/cd/oid' },
  ];

  it('can be several, with paths side by side', () => {
    expect(conflictsOfAdopted([])).toEqual([]);
    expect(conflictsOfAdopted([gitea, ...others])).toEqual([]);
  });

  it.each<[string, AdoptedRepo[], string]>([
    ['named twice', [gitea, { ...gitea, path: 'other/' }], 'acme/game is named twice'],
    [
      'at one path',
      [gitea, { ...gitea, repo: 'two' }],
      'acme/two has a path that overlaps with that of acme/game: lfs/',
    ],
    [
      'one below the other',
      [gitea, { ...gitea, repo: 'two', path: 'lfs/b/' }],
      'acme/two has a path that overlaps with that of acme/game: lfs/',
    ],
    [
      'one above the other',
      [
        { ...gitea, path: 'lfs/b/' },
        { ...gitea, repo: 'two', path: 'lfs/' },
      ],
      'acme/two has a path that overlaps with that of acme/game: lfs/b/',
    ],
    [
      'the whole bucket and a part',
      [whole, gitea],
      'acme/game has a path that overlaps with that of acme/art: the whole bucket',
    ],
    [
      'in a folder of the service',
      [{ ...gitea, path: '_exports/' }],
      'acme/game has a path that starts with _: lfs-quota keeps its own files there',
    ],
    [
      'of a tenant whose name leads into its own path',
      [{ ...gitea, path: 'acme/old/' }],
      'acme/game is for a tenant with keys in the path of acme/game: acme/old/',
    ],
    [
      'of a tenant whose name leads into the whole bucket',
      [{ ...whole, tenant: 'ab' }],
      'ab/art is for a tenant with keys in the path of ab/art: the whole bucket',
    ],
  ])('cannot be %s', (_, repos, message) => {
    expect(conflictsOfAdopted(repos).map((conflict) => conflict.message)).toContain(message);
  });

  it('are named by their place in the list', () => {
    expect(conflictsOfAdopted([...others, gitea, gitea]).map(({ index }) => index)).toEqual([3, 3]);
  });
});

describe('adopted repos', () => {
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
      expect(
        ['lfs', 'org', 'rudolfs', 'acme', 'beta', 'ab'].filter((name) => repos.isReserved(name)),
      ).toEqual(['lfs', 'org', 'rudolfs']);
      expect(wholeBucket.isReserved('ab')).toBe(true);
    });

    it('let no key or prefix pass that could be of one of them, or of several tenants', () => {
      for (const prefix of ['', 'lfs', 'acme', 'lfs/', 'lfs/ab/', 'org/'])
        expect(() => repos.requireOwn(prefix), prefix).toThrow(AdoptedPathError);
      for (const prefix of ['acme/', 'lfs2/', 'other/game/', '_gc/acme/'])
        expect(() => repos.requireOwn(prefix), prefix).not.toThrow();
      expect(() => repos.requireOwn('lfs/ab/')).toThrow(
        'Names that start with lfs/ are reserved for an adopted repo',
      );
      expect(() => repos.requireOwn('lfs')).toThrow('Names that start with no folder are reserved');
      expect(() => repos.requireOwn('lfs')).toThrow(expect.objectContaining({ name: 'AdoptedPathError' }));
    });
  });
});

describe('stored names', () => {
  const oid = 'abcdef'.padEnd(60, '0').concat('1234');
  const hex = fc.constantFrom(...'0123456789abcdef');
  const anyOid = fc.oneof(
    fc.string({ unit: hex, minLength: 64, maxLength: 64 }),
    // Near the edges of folders.
    fc
      .tuple(fc.constantFrom('0000', '00ff', 'ff00', 'ffff', 'abcd', 'abce'), fc.constantFrom('0', 'f', 'a'))
      .map(([first, rest]) => first + rest.repeat(60)),
  );
  const anyLayout = fc.constantFrom(...nameLayouts);
  const odd = fc.constantFrom(
    '/',
    '.',
    '~',
    '`',
    ':',
    'g',
    'A',
    '-',
    '\u{10000}',
    '\uffff',
    '\u{10ffff}',
    'é',
  );
  /** Texts that are alike with an oid for a while. */
  const anyText = fc.oneof(
    anyOid,
    fc.tuple(anyOid, fc.nat(70)).map(([text, length]) => text.slice(0, length)),
    fc
      .tuple(anyOid, fc.nat(64), fc.array(fc.oneof(odd, hex), { maxLength: 3 }))
      .map(([text, length, more]) => text.slice(0, length) + more.join('')),
    fc.string({ unit: anyCharacter, maxLength: 6 }),
  );
  /** Names that are alike with a stored name for a while. */
  const anyName = fc
    .tuple(anyLayout, anyOid, fc.nat(72), fc.array(fc.oneof(odd, hex), { maxLength: 3 }))
    .map(([layout, text, length, more]) => storedNameOf(layout, text).slice(0, length) + more.join(''));
  const sign = (a: string, b: string) => Math.sign(compareKeys(a, b));

  describe('the name of an object in the bucket', () => {
    it.each([
      ['oid', oid],
      ['ab/cd/rest', `ab/cd/${oid.slice(4)}`],
      ['ab/cd/oid', `ab/cd/${oid}`],
    ] as const)('in the layout %s is %s, and back', (layout, name) => {
      expect(storedNameOf(layout, oid)).toBe(name);
      expect(oidOfStoredName(layout, name)).toBe(oid);
    });

    it.each([
      ['oid', ''],
      ['oid', oid.slice(1)],
      ['oid', `${oid}.zstd`],
      ['oid', oid.toUpperCase()],
      ['oid', `ab/cd/${oid.slice(4)}`],
      ['ab/cd/rest', oid],
      ['ab/cd/rest', `ab/cd/${oid}`],
      ['ab/cd/rest', `ab/cd/${oid.slice(5)}`],
      ['ab/cd/rest', `ab-cd/${oid.slice(4)}`],
      ['ab/cd/rest', `ab/cd-${oid.slice(4)}`],
      ['ab/cd/rest', `tmp/upload/${oid.slice(4)}`],
      ['ab/cd/oid', `ab/ce/${oid}`],
      ['ab/cd/oid', `00/cd/${oid}`],
      ['ab/cd/oid', `ab/cd/${oid}/`],
    ] as const)('in the layout %s is never %s', (layout, name) => {
      expect(oidOfStoredName(layout, name)).toBeUndefined();
    });

    it('tells oids apart, and keeps their order', () => {
      fc.assert(
        fc.property(anyLayout, anyOid, anyOid, (layout, a, b) => {
          expect(oidOfStoredName(layout, storedNameOf(layout, a))).toBe(a);
          expect(sign(storedNameOf(layout, a), storedNameOf(layout, b))).toBe(sign(a, b));
        }),
      );
    });

    it('is of one oid at most, whatever it is', () => {
      fc.assert(
        fc.property(anyLayout, anyName, (layout, name) => {
          const found = oidOfStoredName(layout, name);
          if (found !== undefined) expect(storedNameOf(layout, found)).toBe(name);
        }),
      );
    });
  });

  describe('what names begin with', () => {
    it.each([
      ['', '', ''],
      ['a', 'a', 'a'],
      ['ab', 'ab/', 'ab/'],
      ['abc', 'ab/c', 'ab/c'],
      ['abcd', 'ab/cd/', 'ab/cd/abcd'],
      ['abcde', 'ab/cd/e', 'ab/cd/abcde'],
      [oid, `ab/cd/${oid.slice(4)}`, `ab/cd/${oid}`],
    ])('if their oids begin with "%s"', (beginning, rest, whole) => {
      expect(storedBeginning('oid', beginning)).toBe(beginning);
      expect(storedBeginning('ab/cd/rest', beginning)).toBe(rest);
      expect(storedBeginning('ab/cd/oid', beginning)).toBe(whole);
    });

    it.each(['g', 'A', 'ab/', 'ab/cd', `${oid}0`, '~'])(
      'is nothing if no oid begins with "%s"',
      (beginning) => {
        for (const layout of nameLayouts) expect(storedBeginning(layout, beginning)).toBeUndefined();
      },
    );

    it('holds for exactly those', () => {
      fc.assert(
        fc.property(anyLayout, anyOid, anyText, (layout, some, beginning) => {
          const begins = storedBeginning(layout, beginning);
          const isBegun = begins !== undefined && storedNameOf(layout, some).startsWith(begins);
          expect(isBegun).toBe(some.startsWith(beginning));
        }),
      );
    });
  });

  describe('where to go on after a text', () => {
    it.each([
      ['', '', ''],
      ['ab', 'ab', 'ab'],
      ['abc', 'ab/c', 'ab/c'],
      ['abcd', 'ab/cd', 'ab/cd'],
      ['abcde', 'ab/cd/e', 'ab/cd/abcde'],
      ['a\u{10000}b', 'a\u{10000}/b', 'a\u{10000}/b'],
    ])('"%s"', (text, rest, whole) => {
      expect(storedAfter('oid', text)).toBe(text);
      expect(storedAfter('ab/cd/rest', text)).toBe(rest);
      expect(storedAfter('ab/cd/oid', text)).toBe(whole);
    });

    it('leaves out no object behind it, and has none before it', () => {
      fc.assert(
        fc.property(anyLayout, anyOid, anyText, (layout, some, text) => {
          const isAfter = compareKeys(storedNameOf(layout, some), storedAfter(layout, text)) > 0;
          expect(isAfter).toBe(compareKeys(some, text) > 0);
        }),
        { numRuns: 500 },
      );
    });
  });

  describe('what a listing may skip', () => {
    it.each([
      // A folder that no object is in.
      ['ab/cd/rest', 'acme/game/1', 'ac~'],
      ['ab/cd/rest', 'zeta/game/1', '~'],
      ['ab/cd/rest', '_exports/1', '`~'],
      ['ab/cd/rest', '.tmp', '/~'],
      ['ab/cd/rest', 'ab/cd/tmp-1', 'ab/cd/~'],
      ['ab/cd/rest', 'ab.cd', 'ab.~'],
      ['ab/cd/rest', 'ab/c', 'ab/c'],
      ['ab/cd/oid', 'ab/cz', 'ab/c~'],
      ['oid', `${oid}.zstd`, `${oid}~`],
      // As long as an object's name, in the folder of another.
      ['ab/cd/oid', `ab/ce/${oid}`, `ab/ce/${oid}`],
      ['ab/cd/oid', `ab/ce/${oid}/1`, `ab/ce/${oid}~`],
      ['oid', 'Readme', '`~'],
    ] as const)('in the layout %s, from %s, goes to %s', (layout, name, end) => {
      expect(endOfGap(layout, name)).toBe(end);
    });

    it('never goes back, and never passes an object', () => {
      fc.assert(
        fc.property(anyLayout, anyName, anyOid, (layout, name, some) => {
          const end = endOfGap(layout, name);
          expect(compareKeys(end, name)).toBeGreaterThanOrEqual(0);
          const object = storedNameOf(layout, some);
          const isSkipped = compareKeys(object, name) > 0 && compareKeys(object, end) <= 0;
          expect(isSkipped).toBe(false);
        }),
        { numRuns: 500 },
      );
    });
  });
});
