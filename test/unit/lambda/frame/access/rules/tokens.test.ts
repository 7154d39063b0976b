import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sameDigest, sha256Hex } from '../../../../../../lambda/core/rules/hash.ts';
import {
  beyondPrefix,
  derivedToken,
  isForRepo,
  isListed,
  parseSession,
  tokenIdOf,
} from '../../../../../../lambda/frame/access/rules/tokens.ts';

const secret = `lfss_${'a'.repeat(40)}`;

describe('the cookie of a session', () => {
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

describe('a token for files that start with something', () => {
  const reaches = (prefix: string, ...names: string[]) => beyondPrefix({ prefix }, names) === undefined;

  it('reaches these, and nothing else', () => {
    expect(reaches('users/7/', 'users/7/a.png', 'users/7/', 'users/7/b/c.png')).toBe(true);
    for (const name of ['', 'users/', 'users/7', 'users/77/a.png', 'Users/7/a.png', 'x/users/7/a.png'])
      expect(reaches('users/7/', 'users/7/a.png', name)).toBe(false);
    // A name is never changed by what looks like a path in it, nor by another Unicode form.
    expect(reaches('users/7/', 'users/8/../7/a.png')).toBe(false);
    expect(reaches('caf\u00e9/', 'cafe\u0301/a.png')).toBe(false);
    expect(reaches('a', 'ab/x')).toBe(true);
  });

  it('is for nothing that is no file, and says so', () => {
    expect(beyondPrefix({ prefix: 'users/7/' }, 'others')).toBe(
      'This token is only for files that start with users/7/. Use a token without a prefix.',
    );
    for (const names of ['others', ['a.png']] as const) expect(beyondPrefix({}, names)).toBeUndefined();
  });
});
