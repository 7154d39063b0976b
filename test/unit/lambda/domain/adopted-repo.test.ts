import { describe, expect, it } from 'vitest';
import {
  type AdoptedRepo,
  adoptedPathCharactersMax,
  adoptedPathRule,
  conflictsOfAdopted,
  isAdoptedPath,
  isAdoptedRepo,
  isTakenBy,
} from '../../../../lambda/domain/adopted-repo.ts';

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
      'acme/game has a path that begins with _: there the service keeps files of its own',
    ],
    [
      'of a tenant whose name leads into its own path',
      [{ ...gitea, path: 'acme/old/' }],
      'acme/game is of a tenant whose own keys would lie in the path of acme/game: acme/old/',
    ],
    [
      'of a tenant whose name leads into the whole bucket',
      [{ ...whole, tenant: 'ab' }],
      'ab/art is of a tenant whose own keys would lie in the path of ab/art: the whole bucket',
    ],
  ])('cannot be %s', (_, repos, message) => {
    expect(conflictsOfAdopted(repos).map((conflict) => conflict.message)).toContain(message);
  });

  it('are named by their place in the list', () => {
    expect(conflictsOfAdopted([...others, gitea, gitea]).map(({ index }) => index)).toEqual([3, 3]);
  });
});
