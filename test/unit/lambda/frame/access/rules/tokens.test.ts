import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sameDigest, sha256Hex } from '../../../../../../lambda/core/rules/hash.ts';
import {
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
