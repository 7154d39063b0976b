import { describe, expect, it } from 'vitest';
import { grantKeyOf, mayBeHostToken, nameOfPerson } from '../../../../lambda/domain/person.ts';

describe('a password', () => {
  it.each([
    ['as hosts make them', ['ghp_0123456789abcdefghij0123456789abcdef', 'github_pat_11ABCDEFG0_abcdef']],
    ['as others make them', ['glpat-0123456789abcdefghij', '0123456789abcdef0123456789abcdef01234567']],
    ['almost as long as the admin token', ['a'.repeat(42), 'a'.repeat(44)]],
    ['with dots, hyphens and underscores', ['a.b.c-d_e', 'not-lfsq_ours']],
    ['of 8 to 512 characters', ['12345678', 'x'.repeat(512)]],
  ])('may be a token for a host: %s', (_what, texts) => {
    for (const text of texts) expect([text, mayBeHostToken(text)]).toEqual([text, true]);
  });

  it.each([
    ['a token of ours', [`lfsq_${'a'.repeat(43)}`, 'lfsq_short', `lfsv_${'a'.repeat(30)}`]],
    ['a session', [`0123456789abcdef.lfss_${'a'.repeat(40)}`, `operator.lfss_${'a'.repeat(40)}`]],
    ['a token of ours in something else', [`bearer:lfsq_${'a'.repeat(40)}`]],
    ['the admin token of a deployed stage', [`${'aB3'.repeat(14)}x`]],
    ['too few or too many characters', ['', '1234567', 'x'.repeat(513)]],
    ['other characters', ['with space here', 'line\nbreak-in-it', 'ünïcödé-token']],
  ])('is never sent to a host: %s', (_what, texts) => {
    for (const text of texts) expect([text, mayBeHostToken(text)]).toEqual([text, false]);
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
