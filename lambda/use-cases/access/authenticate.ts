import { sha256Hex } from '../../domain/hash.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { sameDigest, tokenIdOf } from '../../domain/token.ts';
import type { TokenScope } from '../../ports/credentials.ts';
import type { Deps } from '../deps.ts';

export type TenantAccess =
  | { readonly kind: 'granted'; readonly tenant: TenantRecord; readonly scope: TokenScope }
  /** No token, or a token that does not exist. */
  | { readonly kind: 'unauthenticated' }
  /** The tenant does not exist, is closed, or is not the token's own. The client must not learn which. */
  | { readonly kind: 'not-found' };

/**
 * Checks a tenant's token and reads the tenant, in one round trip.
 *
 * @param input.credential the token as presented. undefined: none.
 * @throws {LedgerUnavailableError}
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

/** True if the credential is the operator's token. */
export async function isAdmin(deps: Pick<Deps, 'admin'>, credential: string | undefined): Promise<boolean> {
  return credential !== undefined && sameDigest(await deps.admin.sha256(), sha256Hex(credential));
}
