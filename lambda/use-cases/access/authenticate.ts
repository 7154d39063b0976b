import { sha256Hex } from '../../domain/hash.ts';
import { sameDigest, tokenIdOf } from '../../domain/token.ts';
import type { TokenScope } from '../../ports/credentials.ts';
import type { Deps } from '../deps.ts';

export type TokenAccess =
  | { readonly kind: 'granted'; readonly scope: TokenScope }
  /** No token, or a token that does not exist. */
  | { readonly kind: 'unauthenticated' }
  /** The token of another tenant. The client must not learn whether this one exists. */
  | { readonly kind: 'not-found' };

/**
 * Checks a tenant's token. Nothing of the tenant is read: the time that it takes must not tell a stranger whether the
 * tenant exists, and strangers must not make the table work.
 *
 * @param input.credential the token as presented. undefined: none.
 * @throws {LedgerUnavailableError}
 */
export async function authenticateToken(
  deps: Pick<Deps, 'tokens'>,
  input: { tenant: string; credential: string | undefined },
): Promise<TokenAccess> {
  const { tenant, credential } = input;
  if (!credential) return { kind: 'unauthenticated' };
  const token = await deps.tokens.find(tokenIdOf(credential));
  if (!token || !sameDigest(token.secretSha256, sha256Hex(credential))) return { kind: 'unauthenticated' };
  return token.tenant === tenant ? { kind: 'granted', scope: token.scope } : { kind: 'not-found' };
}

/** True if the credential is the operator's token. */
export async function isAdmin(deps: Pick<Deps, 'admin'>, credential: string | undefined): Promise<boolean> {
  return credential !== undefined && sameDigest(await deps.admin.sha256(), sha256Hex(credential));
}
