import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  derivedToken,
  grantKeyOf,
  isForRepo,
  isListed,
  mayBeHostToken,
  nameOfPerson,
  operatorParent,
  parseSession,
  sameDigest,
  sessionLifetimeMs,
  tokenIdOf,
} from '../../../../../lambda/people/rules/tokens.ts';
import { sha256Hex } from '../../../../../lambda/rules/hash.ts';

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

const secret = `lfss_${'a'.repeat(40)}`;

describe('the cookie of a session', () => {
  it('lasts for twelve hours, and of an operator has the parent that no token has', () => {
    expect(sessionLifetimeMs).toBe(43_200_000);
    expect(operatorParent).toBe('operator');
  });

  it.each(['operator', '0123456789abcdef'])('holds its parent %s and its secret', (parentId) => {
    expect(parseSession(`${parentId}.${secret}`)).toEqual({ parentId, secret });
  });

  it.each([
    '',
    secret,
    `.${secret}`,
    `admin.${secret}`,
    `0123456789abcde.${secret}`,
    `0123456789ABCDEF.${secret}`,
    `0123456789abcdef.${secret}a`,
    `0123456789abcdef.${secret.slice(0, -1)}`,
    `0123456789abcdef.lfsq_${'a'.repeat(40)}`,
    ` operator.${secret}`,
    `operator.${secret}\n`,
  ])('is none if it is %j', (value) => {
    expect(parseSession(value)).toBeUndefined();
  });
});

it('the id of a token tells 64 bits of its hash, and no more', () => {
  expect(tokenIdOf('secret')).toMatch(/^[0-9a-f]{16}$/);
  expect(sha256Hex('secret').startsWith(tokenIdOf('secret'))).toBe(true);
});

it('a token is listed until a day after it has expired', () => {
  const dayMs = 86_400_000;
  expect(isListed({ expiresAtMs: null }, 9e15)).toBe(true);
  expect(isListed({ expiresAtMs: 1000 }, 999 + dayMs)).toBe(true);
  expect(isListed({ expiresAtMs: 1000 }, 1000 + dayMs)).toBe(false);
});

it('a token is for all repos, or for those that it names', () => {
  expect(isForRepo({ repos: null }, 'game')).toBe(true);
  expect(isForRepo({ repos: ['game'] }, 'game')).toBe(true);
  expect(isForRepo({ repos: ['game'] }, 'gam')).toBe(false);
  expect(isForRepo({ repos: [] }, 'game')).toBe(false);
});

describe('two digests', () => {
  const digest = sha256Hex('a');

  it('are the same if all of their bytes are', () => {
    expect(sameDigest(digest, digest)).toBe(true);
    expect(sameDigest(digest, digest.toUpperCase())).toBe(true);
    expect(sameDigest(digest, sha256Hex('b'))).toBe(false);
  });

  it('of which one is cut or no hex differ', () => {
    for (const wrong of ['', digest.slice(2), `${digest}00`, 'no hex']) {
      expect(sameDigest(digest, wrong)).toBe(false);
      expect(sameDigest(wrong, digest)).toBe(false);
    }
  });
});

describe('a token that is derived from a credential', () => {
  const from = { credential: 'secret', seed: 'seed' };
  const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

  it('has all 256 bits of an HMAC of its seed', () => {
    const token = derivedToken(from);
    expect(token).toMatch(/^lfsq_[0-9A-Za-z]{43}$/);
    const value = [...token.slice('lfsq_'.length)].reduce(
      (sum, digit) => sum * 62n + BigInt(base62.indexOf(digit)),
      0n,
    );
    expect(value.toString(16).padStart(64, '0')).toBe(
      createHmac('sha256', from.credential).update(from.seed).digest('hex'),
    );
  });

  it('is the same each time, and another with another credential or seed', () => {
    expect(derivedToken({ ...from })).toBe(derivedToken(from));
    expect(derivedToken({ ...from, seed: 'other' })).not.toBe(derivedToken(from));
    expect(derivedToken({ ...from, credential: 'other' })).not.toBe(derivedToken(from));
  });
});
