import { describe, expect, it } from 'vitest';
import {
  hashOfLockId,
  isShownPath,
  lockHashOf,
  lockHashPattern,
  lockIdPattern,
  lockOwnerIdsOf,
  lockOwnerOf,
  lockPathCharactersMax,
  lockSliceOf,
  ownerOfLock,
} from '../../../../../../lambda/subjects/locks/rules/locks.ts';

const token = { tokenId: '5f0c1e2d3b4a5968', user: null, label: null };

describe('the path of a lock', () => {
  it('is any text without control characters', () => {
    const paths = ['a', 'art/hero.psd', 'ä b/😀.bin', '../odd', 'x'.repeat(lockPathCharactersMax)];
    const controls = [
      'a\nb',
      'a\u001b[31m',
      'a\u0000',
      'a\u007f',
      'a\u009b',
      'a\u202eb',
      'a\u2028b',
      'a\u2066b',
    ];
    const others = ['', '\ud800', 'x'.repeat(lockPathCharactersMax + 1)];
    expect([...paths, ...controls, ...others].filter(isShownPath)).toEqual(paths);
  });

  it('has as many characters, however they are written', () => {
    expect(isShownPath('😀'.repeat(lockPathCharactersMax))).toBe(true);
    expect(isShownPath('😀'.repeat(lockPathCharactersMax + 1))).toBe(false);
  });

  it('is in its id, and tells its lock from others', () => {
    const hash = lockHashOf('art/hero.psd');
    expect(hash).toMatch(lockHashPattern);
    expect(hash).not.toBe(lockHashOf('art/Hero.psd'));
    const id = `${hash}Kq3vT0xYb9Za`;
    expect(id).toMatch(lockIdPattern);
    expect(hashOfLockId(id)).toBe(hash);
    expect(hash.startsWith(lockSliceOf(hash))).toBe(true);
  });

  it('is in one of 256 slices of its repo, about as often in each', () => {
    const counts = new Map<string, number>();
    for (let index = 0; index < 25_600; index += 1) {
      const slice = lockSliceOf(lockHashOf(`art/${index}.psd`));
      counts.set(slice, (counts.get(slice) ?? 0) + 1);
    }
    expect(counts.size).toBe(256);
    expect(Math.max(...counts.values())).toBeLessThan(150);
  });
});

describe('the owner of a lock', () => {
  it('is the user, whatever token is used', () => {
    const ada = { ownerId: 'user:ada', ownerName: 'ada' };
    expect(lockOwnerOf({ ...token, user: 'ada' })).toEqual(ada);
    expect(lockOwnerOf({ tokenId: '0'.repeat(16), user: 'ada', label: 'laptop' })).toEqual(ada);
  });

  it('is the token if it has no user, and is shown by its label', () => {
    expect(lockOwnerOf({ ...token, label: 'build' })).toEqual({
      ownerId: 'token:5f0c1e2d3b4a5968',
      ownerName: 'build',
    });
    expect(lockOwnerOf(token).ownerName).toBe('token 5f0c…');
  });

  it('is the person for whom a git host vouches, by their number, and is shown by their name', () => {
    const hostUser = { id: 'github:1234', login: 'ada' };
    const theirs = lockOwnerOf({ tokenId: hostUser.id, user: null, label: null, hostUser });
    expect(theirs).toEqual({ ownerId: 'person:github:1234', ownerName: 'ada (github)' });
    expect(lockOwnerOf({ ...token, user: 'github:1234' }).ownerId).not.toBe(theirs.ownerId);
    expect(lockOwnerOf({ ...token, tokenId: 'github:1234' }).ownerId).not.toBe(theirs.ownerId);
    expect(lockOwnerIdsOf('github:1234')).toContain(theirs.ownerId);
    expect(ownerOfLock(theirs)).toBe('github:1234');
  });

  it('is never another’s, though a user is called as the id of a token', () => {
    const { ownerId } = lockOwnerOf({ ...token, user: token.tokenId, tokenId: '0'.repeat(16) });
    expect(ownerId).not.toBe(lockOwnerOf(token).ownerId);
  });

  it('is found by the user or the id of the token', () => {
    for (const owner of [token, { ...token, user: 'ada:b' }].map(lockOwnerOf))
      expect(lockOwnerIdsOf(ownerOfLock(owner))).toContain(owner.ownerId);
    expect(ownerOfLock({ ownerId: 'user:ada:b' })).toBe('ada:b');
  });
});

describe('the id of a lock', () => {
  const hash = lockHashOf('art/hero.psd');
  const id = `${hash}aB3aB3aB3aB3`;

  it('is its hash and twelve letters and digits, and nothing else', () => {
    expect(lockIdPattern.test(id)).toBe(true);
    for (const text of [`0${id}`, `${id}0`, ` ${id}`, `${id}\n`, id.slice(1), `${hash}aB3aB3aB3aB-`])
      expect(lockIdPattern.test(text), text).toBe(false);
  });

  it('begins with a hash of 40 hex digits, and nothing else', () => {
    expect(lockHashPattern.test(hash)).toBe(true);
    for (const text of [`0${hash}`, `${hash}0`, id, hash.slice(1), hash.toUpperCase()])
      expect(lockHashPattern.test(text), text).toBe(false);
  });
});
