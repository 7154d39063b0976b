import { timingSafeEqual } from 'node:crypto';
import { sha256Hex } from './hash.ts';

/** A token's public id: 64 bits of its hash, which tell nothing about its 238 bits of randomness. */
export function tokenIdOf(token: string): string {
  return sha256Hex(token).slice(0, 16);
}

/** Compares two hex digests in constant time. */
export function sameDigest(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return left.length === right.length && timingSafeEqual(left, right);
}
