import { createHmac, timingSafeEqual } from 'node:crypto';
import { sha256Hex } from './hash.ts';

/** A token's public id: 64 bits of its hash, which reveal nothing about the secret. */
export function tokenIdOf(token: string): string {
  return sha256Hex(token).slice(0, 16);
}

/** Whether a token may be used for a repo. @param token.repos null: it is for all of its tenant. */
export function isForRepo({ repos }: { readonly repos: readonly string[] | null }, repo: string): boolean {
  return repos === null || repos.includes(repo);
}

/** A token that has expired is listed for so long. */
export const shownAfterExpiryMs = 24 * 60 * 60_000;

/** Whether a token is listed: until some time after it has expired. */
export function isListed({ expiresAtMs }: { readonly expiresAtMs: number | null }, nowMs: number): boolean {
  return expiresAtMs === null || nowMs < expiresAtMs + shownAfterExpiryMs;
}

/** Compares two hex digests in constant time. */
export function sameDigest(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return left.length === right.length && timingSafeEqual(left, right);
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A token derived from a secret credential and a random seed. Without both of them nobody can compute it. 256 bits, as
 * 43 characters of base62.
 */
export function derivedToken(from: { credential: string; seed: string }): string {
  let value = BigInt(`0x${createHmac('sha256', from.credential).update(from.seed).digest('hex')}`);
  let text = '';
  for (let length = 0; length < 43; length += 1) {
    text = `${base62[Number(value % 62n)]}${text}`;
    value /= 62n;
  }
  return `lfsq_${text}`;
}
