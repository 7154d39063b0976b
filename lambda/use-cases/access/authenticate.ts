import type { Deps } from '../../deps.ts';
import { isForRepo, sameDigest, type TokenRecord, tokenIdOf } from '../../domain/token.ts';
import { sha256Hex } from '../../rules/hash.ts';

export type TokenAccess =
  | { readonly kind: 'granted'; readonly token: TokenRecord }
  /** No token, or one that does not exist or has expired. */
  | { readonly kind: 'unauthenticated' }
  /** The token of another tenant, or of other repos. The client must not learn whether this one exists. */
  | { readonly kind: 'not-found' };

/**
 * Checks a tenant's token. Nothing of the tenant is read: the time that it takes must not tell a stranger whether the
 * tenant exists, and strangers must not make the table work.
 *
 * @param input.repo the repo that is asked for. Without it the token is good for any operation of its tenant that
 * keeps to its repos.
 * @param input.credential the token as presented. undefined: none.
 * @throws {LedgerUnavailableError}
 */
export async function authenticateToken(
  deps: Pick<Deps, 'tokens' | 'clock'>,
  input: { tenant: string; repo?: string | undefined; credential: string | undefined },
): Promise<TokenAccess> {
  const { tenant, repo, credential } = input;
  const token = await findToken(deps, credential);
  if (!token) return { kind: 'unauthenticated' };
  return grantFor(token, { tenant, repo });
}

/** Whether a token that is valid is for this tenant, and this repo. */
export function grantFor(
  token: TokenRecord,
  { tenant, repo }: { tenant: string; repo?: string | undefined },
): Exclude<TokenAccess, { kind: 'unauthenticated' }> {
  const isFor = token.tenant === tenant && (repo === undefined || isForRepo(token, repo));
  return isFor ? { kind: 'granted', token } : { kind: 'not-found' };
}

/**
 * The token that is presented, if it is valid.
 *
 * @throws {LedgerUnavailableError}
 */
export async function findToken(
  deps: Pick<Deps, 'tokens' | 'clock'>,
  credential: string | undefined,
): Promise<TokenRecord | undefined> {
  if (!credential) return undefined;
  const token = await deps.tokens.find(tokenIdOf(credential));
  if (!token || !sameDigest(token.secretSha256, sha256Hex(credential))) return undefined;
  return isExpired(token, deps.clock.nowMs()) ? undefined : token;
}

export function isExpired({ expiresAtMs }: { readonly expiresAtMs: number | null }, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}

/** True if the credential is the operator's token. */
export async function isAdmin(deps: Pick<Deps, 'admin'>, credential: string | undefined): Promise<boolean> {
  if (credential === undefined) return false;
  const presented = sha256Hex(credential);
  return (await deps.admin.sha256s()).some((accepted) => sameDigest(accepted, presented));
}
