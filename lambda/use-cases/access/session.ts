import type { Deps } from '../../deps.ts';
import { operatorParent, parseSession, type SessionRecord, sessionLifetimeMs } from '../../domain/session.ts';
import { sameDigest, type TokenRecord, tokenIdOf } from '../../domain/token.ts';
import { sha256Hex } from '../../rules/hash.ts';
import { isExpired } from './authenticate.ts';

/** Random base62 characters of a session: 238 bits. */
const secretLength = 40;

/** Who holds a token or a session. */
export interface Holder {
  /** undefined: the operator. */
  readonly token: TokenRecord | undefined;
}

/** A session that is valid, and whose it is. */
export interface HeldSession extends Holder {
  readonly session: SessionRecord;
}

/**
 * Begins a session for whoever holds a token. It ends with that token, whether it is revoked or expires; the operator's
 * ends when the admin token is another one.
 *
 * @returns `value` is for the cookie. It is stored nowhere.
 * @throws {LedgerUnavailableError}
 */
export async function beginSession(
  deps: Pick<Deps, 'tokens' | 'admin' | 'ids' | 'clock'>,
  { token }: Holder,
): Promise<{ value: string; session: SessionRecord }> {
  const secret = `lfss_${deps.ids.random(secretLength)}`;
  const createdAtMs = deps.clock.nowMs();
  // Just after a rotation two are accepted. The session ends with the older one.
  const parentSha256 = token?.secretSha256 ?? (await deps.admin.sha256s()).at(-1) ?? '';
  const session: SessionRecord = {
    sessionId: tokenIdOf(secret),
    parentId: token?.tokenId ?? operatorParent,
    secretSha256: sha256Hex(secret),
    boundTo: boundTo(secret, parentSha256),
    createdAtMs,
    expiresAtMs: Math.min(createdAtMs + sessionLifetimeMs, token?.expiresAtMs ?? Number.POSITIVE_INFINITY),
  };
  await deps.tokens.putSession(session);
  return { value: `${session.parentId}.${secret}`, session };
}

/**
 * The session of a cookie, if it and what it stands for are still valid.
 *
 * @param value what the cookie holds.
 * @throws {LedgerUnavailableError}
 */
export async function findSession(
  deps: Pick<Deps, 'tokens' | 'admin' | 'clock'>,
  value: string,
): Promise<HeldSession | undefined> {
  const parsed = parseSession(value);
  if (!parsed) return undefined;
  const { parentId, secret } = parsed;
  const isOperator = parentId === operatorParent;
  const [session, token, adminSha256s] = await Promise.all([
    deps.tokens.findSession({ parentId, sessionId: tokenIdOf(secret) }),
    isOperator ? undefined : deps.tokens.find(parentId),
    isOperator ? deps.admin.sha256s() : [],
  ]);
  const parentDigests = token ? [token.secretSha256] : adminSha256s;
  if (!session) return undefined;
  const nowMs = deps.clock.nowMs();
  const isValid =
    sameDigest(session.secretSha256, sha256Hex(secret)) &&
    parentDigests.some((digest) => sameDigest(session.boundTo, boundTo(secret, digest))) &&
    !isExpired(session, nowMs) &&
    (token === undefined || !isExpired(token, nowMs));
  return isValid ? { session, token } : undefined;
}

/** Ends a session. Its cookie is worth nothing from now on. @throws {LedgerUnavailableError} */
export async function endSession(
  deps: Pick<Deps, 'tokens'>,
  { session }: Pick<HeldSession, 'session'>,
): Promise<void> {
  await deps.tokens.deleteSession(session);
}

/** Ties a session to one credential. Without the session's secret, nobody can try which one it is. */
const boundTo = (secret: string, parentSha256: string) => sha256Hex(`${secret}\n${parentSha256}`);
