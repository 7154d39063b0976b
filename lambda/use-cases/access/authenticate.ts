import { timingSafeEqual } from 'node:crypto';
import { sha256Hex } from '../../domain/hash.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { TokenScope } from '../../ports/token-store.ts';
import type { Deps } from '../deps.ts';

/** A token's public id: 64 bits of its hash, which tell nothing about its 238 bits of randomness. */
export function tokenIdOf(token: string): string {
  return sha256Hex(token).slice(0, 16);
}

/** Compares two hex digests in constant time. */
function sameDigest(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return left.length === right.length && timingSafeEqual(left, right);
}

export type TenantAccess =
  | { readonly kind: 'granted'; readonly tenant: TenantRecord; readonly scope: TokenScope }
  /** No token, or none that is valid anywhere. */
  | { readonly kind: 'unauthenticated' }
  /** Absent, closed, or another's: which of them, nobody is told. */
  | { readonly kind: 'not-found' };

/**
 * Who asks, and the tenant's record, in one round trip.
 *
 * @param input.credential the token as presented, undefined where there was none.
 */
export async function authenticateTenant(
  deps: Pick<Deps, 'tokens' | 'ledger'>,
  input: { tenant: string; credential: string | undefined },
): Promise<TenantAccess> {
  const { tenant, credential } = input;
  if (!credential) return { kind: 'unauthenticated' };
  const [token, record] = await Promise.all([
    deps.tokens.find(tokenIdOf(credential)),
    deps.ledger.readTenant(tenant),
  ]);
  if (!token || !sameDigest(token.secretSha256, sha256Hex(credential))) return { kind: 'unauthenticated' };
  if (token.tenant !== tenant || !record || record.closedAtMs !== null) return { kind: 'not-found' };
  return { kind: 'granted', tenant: record, scope: token.scope };
}

/** True for the operator's token. */
export async function isAdmin(deps: Pick<Deps, 'admin'>, credential: string | undefined): Promise<boolean> {
  return credential !== undefined && sameDigest(await deps.admin.sha256(), sha256Hex(credential));
}
