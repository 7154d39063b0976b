import { describe, expect, it } from 'vitest';
import { grantKeyOf, mayBeHostToken, nameOfPerson } from '../../../../lambda/domain/person.ts';

describe('a password', () => {
  it.each([
    'ghp_0123456789abcdefghij0123456789abcdef',
    'github_pat_11ABCDEFG0_abcdef',
    'glpat-0123456789abcdefghij',
    '0123456789abcdef0123456789abcdef01234567',
    'a'.repeat(42),
    'a'.repeat(44),
    'a.b.c-d_e',
    'not-lfsq_ours',
    '12345678',
    'x'.repeat(512),
  ])('may be a token for a host: %s', (text) => {
    expect(mayBeHostToken(text)).toBe(true);
  });

  it.each([
    `lfsq_${'a'.repeat(43)}`,
    'lfsq_short',
    `lfsv_${'a'.repeat(30)}`,
    // The value of a session, of a token or of the operator.
    `0123456789abcdef.lfss_${'a'.repeat(40)}`,
    `operator.lfss_${'a'.repeat(40)}`,
    `bearer:lfsq_${'a'.repeat(40)}`,
    // The admin token of a deployed stage.
    `${'aB3'.repeat(14)}x`,
    '1234567',
    'with space here',
    'line\nbreak-in-it',
    'ünïcödé-token',
    'x'.repeat(513),
    '',
  ])('is never sent to a host: %s', (text) => {
    expect(mayBeHostToken(text)).toBe(false);
  });
});

describe('the key of a grant', () => {
  const of = {
    tenant: 'acme',
    repo: 'game',
    host: 'github',
    name: 'acme/game',
    sinceMs: 1,
    credential: 'secret-token',
  };

  it('is a hash, and another for each thing that counts', () => {
    const key = grantKeyOf(of);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(grantKeyOf({ ...of })).toBe(key);
    const others = [
      { tenant: 'acme2' },
      { repo: 'game2' },
      { host: 'gitlab' },
      { name: 'acme/other' },
      { sinceMs: 2 },
      { credential: 'secret-tokem' },
      { tenant: 'acme","game' },
    ].map((other) => grantKeyOf({ ...of, ...other }));
    expect(new Set([key, ...others]).size).toBe(8);
  });
});

it('the name of a person says whose person they are', () => {
  expect(nameOfPerson({ id: 'github:1234', login: 'ada' })).toBe('ada (github)');
});
