import { describe, expect, it } from 'vitest';
import {
  bestRule,
  type ExchangeRule,
  issuersFromJson,
  issuersToJson,
  letsIn,
  publicIssuers,
  wrongRule,
} from '../../../../../../lambda/subjects/ci/rules/identities.ts';

const issuer = 'https://issuer.example';
const rule = (more: Partial<ExchangeRule> = {}): ExchangeRule => ({
  id: 'a',
  tenant: 'acme',
  issuer,
  match: { repository_id: ['7'] },
  scope: 'read',
  repos: null,
  lifetimeMs: 1,
  createdAtMs: 1,
  ...more,
});
const identity = (claims: Record<string, unknown>) => ({ issuer, claims });

describe('a rule', () => {
  it.each([
    [{ repository_id: '7' }, true],
    [{ repository_id: 7 }, true],
    [{ repository_id: '77' }, false],
    [{ repository_id: ['7'] }, false],
    [{ repository_id: null }, false],
    [{}, false],
    [Object.create({ repository_id: '7' }), false],
  ])('for repository 7 lets in %j: %s', (claims, expected) => {
    expect(letsIn(rule(), identity(claims))).toBe(expected);
  });

  it('is for its issuer alone', () => {
    expect(letsIn(rule(), { issuer: 'https://other.example', claims: { repository_id: '7' } })).toBe(false);
  });

  it('lets in nobody if it demands nothing', () => {
    expect(letsIn(rule({ match: {} }), identity({ repository_id: '7' }))).toBe(false);
  });

  it.each([
    ['refs/heads/main', true],
    ['refs/heads/main2', false],
    ['refs/tags/v1', true],
    ['refs/tags/', true],
    ['refs/tag', false],
    ['xrefs/tags/v1', false],
  ])('demands all its claims, and one value of each: ref %s is let in: %s', (ref, expected) => {
    const match = { repository_id: ['7', '8'], ref: ['refs/heads/main', 'refs/tags/*'] };
    expect(letsIn(rule({ match }), identity({ repository_id: '8', ref }))).toBe(expected);
    expect(letsIn(rule({ match }), identity({ repository_id: '9', ref }))).toBe(false);
  });

  it('can demand what is true or false', () => {
    const match = { ref_protected: ['true'] };
    expect(letsIn(rule({ match }), identity({ ref_protected: true }))).toBe(true);
    expect(letsIn(rule({ match }), identity({ ref_protected: false }))).toBe(false);
  });

  it('takes a * for a character in any claim but ref', () => {
    const match = { repository_id: ['*'] };
    expect(letsIn(rule({ match }), identity({ repository_id: '7' }))).toBe(false);
    expect(letsIn(rule({ match }), identity({ repository_id: '*' }))).toBe(true);
  });

  it.each([
    ['github', { repository: ['acme/game'] }, 'read', /repository_id or repository_owner_id/],
    ['github', { project_id: ['7'] }, 'read', /repository_id or repository_owner_id/],
    ['gitlab', { repository_id: ['7'] }, 'read', /project_id or namespace_id/],
    ['github', {}, 'read', /repository_id/],
    ['github', { repository_id: ['7'] }, 'write', /ref or environment/],
    // Any pull request has such a ref.
    ['github', { repository_id: ['7'], ref: ['*'] }, 'write', /before its \*/],
    ['github', { repository_id: ['7'], ref: ['r*'] }, 'write', /before its \*/],
    ['github', { repository_id: ['7'], ref: ['refs/*'] }, 'write', /before its \*/],
    ['github', { repository_id: ['7'], ref: ['refs/pull/7*'] }, 'write', /before its \*/],
    ['github', { repository_id: ['7'], ref: ['refs/heads/*'] }, 'write', /before its \*/],
    ['github', { repository_id: ['7'], ref: ['refs/heads/main', '*'] }, 'write', /before its \*/],
    ['github', { repository_id: ['7'], ref: ['*'], environment: ['production'] }, 'write', /before its \*/],
    // A tag can be called main, and any branch can name an environment.
    ['gitlab', { project_id: ['7'] }, 'write', /ref_path/],
    ['gitlab', { project_id: ['7'], ref: ['main'] }, 'write', /ref_type=branch/],
    ['gitlab', { project_id: ['7'], ref: ['main'], ref_type: ['branch', 'tag'] }, 'write', /ref_type=branch/],
    ['gitlab', { project_id: ['7'], ref: ['main'], ref_protected: ['false'] }, 'write', /ref_protected=true/],
    ['gitlab', { project_id: ['7'], ref_type: ['branch'] }, 'write', /ref_path/],
    ['gitlab', { project_id: ['7'], environment: ['production'] }, 'write', /environment_protected=true/],
    ['gitlab', { project_id: ['7'], environment: ['live'], ref_type: ['branch'] }, 'write', /environment/],
    ['gitlab', { project_id: ['7'], ref: ['*'], ref_protected: ['true'] }, 'write', /before its \*/],
    ['gitlab', { project_id: ['7'], ref_path: ['refs/heads/*'] }, 'write', /with a \*/],
    ['github', { repository_id: ['*'] }, 'read', /with a \*/],
    ['github', { repository_id: ['7'], ref: ['refs/*/main'] }, 'write', /with a \*/],
    ['github', { repository_id: ['7'], ref: ['**'] }, 'write', /with a \*/],
    ['github', { repository_id: ['7'], ref: ['refs/heads/main', '**'] }, 'write', /with a \*/],
  ] as const)('for %s that demands %j to %s is wrong', (kind, match, scope, message) => {
    expect(wrongRule({ match, scope }, { kind })).toMatch(message);
  });

  it.each([
    ['github', { repository_owner_id: ['7'] }, 'read'],
    ['github', { repository_id: ['7'], ref: ['refs/heads/r*', 'refs/tags/v*', 'refs/heads/main'] }, 'write'],
    // To read is for any job of the repository, so a ref takes nothing away that was not given.
    ['github', { repository_id: ['7'], ref: ['refs/pull/*'] }, 'read'],
    ['github', { repository_id: ['7'], environment: ['production'] }, 'write'],
    ['gitlab', { project_id: ['7'] }, 'read'],
    ['gitlab', { namespace_id: ['7'], ref: ['main'], ref_type: ['branch'] }, 'write'],
    ['gitlab', { project_id: ['7'], ref: ['v*'], ref_protected: ['true'] }, 'write'],
    ['gitlab', { project_id: ['7'], ref_path: ['refs/heads/main'] }, 'write'],
    ['gitlab', { project_id: ['7'], environment: ['live'], environment_protected: ['true'] }, 'write'],
    ['gitlab', { project_id: ['7'], environment: ['live'], ref_protected: ['true'] }, 'write'],
  ] as const)('for %s that demands %j to %s is right', (kind, match, scope) => {
    expect(wrongRule({ match, scope }, { kind })).toBeUndefined();
  });

  it('that gives the most is chosen, the older of two like ones', () => {
    const rules = [
      rule({ id: 'read' }),
      rule({ id: 'some', scope: 'write', repos: ['game'], createdAtMs: 0 }),
      rule({ id: 'new', scope: 'write', createdAtMs: 2 }),
      rule({ id: 'old', scope: 'write' }),
      rule({ id: 'other', scope: 'write', match: { repository_id: ['8'] }, createdAtMs: 0 }),
    ];
    const chosen = (some: readonly ExchangeRule[]) => bestRule(some, identity({ repository_id: '7' }))?.id;
    expect(chosen(rules)).toBe('old');
    expect(chosen([...rules].reverse())).toBe('old');
    expect(chosen(rules.filter(({ id }) => !['old', 'new'].includes(id)))).toBe('some');
    expect(chosen(rules.filter(({ id }) => ['read', 'other'].includes(id)))).toBe('read');
    expect(chosen(rules.filter(({ id }) => id === 'other'))).toBeUndefined();
    // Two of the same millisecond: always the same one.
    const twins = [rule({ id: 'b' }), rule({ id: 'a' }), rule({ id: 'c' })];
    expect([chosen(twins), chosen([...twins].reverse())]).toEqual(['a', 'a']);
  });
});

const own = {
  issuer: 'https://git.example.com',
  jwksUri: 'https://git.example.com/keys',
  kind: 'gitlab',
} as const;

describe('the issuers of a stage', () => {
  it.each([[[]], [[own]], [[own, ...publicIssuers]]])('go through the environment: %j', (issuers) => {
    const text = issuersToJson(issuers);
    expect(text).toBeTypeOf('string');
    expect(issuersFromJson(text)).toEqual(issuers);
  });

  it('need no variable if they are the public ones', () => {
    expect(issuersToJson(publicIssuers)).toBeUndefined();
    expect(issuersFromJson(undefined)).toEqual(publicIssuers);
  });

  it.each([
    '',
    '{}',
    'null',
    '[null]',
    '[{}]',
    '["x"]',
    JSON.stringify([{ ...own, kind: 'other' }]),
    JSON.stringify([{ ...own, issuer: 7 }]),
    JSON.stringify([{ ...own, jwksUri: null }]),
  ])('are not taken from %j', (text) => {
    expect(() => issuersFromJson(text)).toThrow(/Deploy again/);
  });

  it('are by default GitHub and GitLab, whose keys are where they say', () => {
    expect(publicIssuers).toEqual([
      {
        issuer: 'https://token.actions.githubusercontent.com',
        jwksUri: 'https://token.actions.githubusercontent.com/.well-known/jwks',
        kind: 'github',
      },
      { issuer: 'https://gitlab.com', jwksUri: 'https://gitlab.com/oauth/discovery/keys', kind: 'gitlab' },
    ]);
  });
});
