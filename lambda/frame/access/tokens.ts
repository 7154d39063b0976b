import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { sameDigest, sha256Hex } from '../../core/rules/hash.ts';
import type { AccessPorts } from './ports.ts';
import { claimRequest } from './request-keys.ts';
import {
  derivedToken,
  isForRepo,
  operatorParent,
  parseSession,
  type SessionRecord,
  sessionLifetimeMs,
  type TokenRecord,
  type TokenScope,
  tokenIdOf,
  tokenUseStepMs,
} from './rules/tokens.ts';

type TokenAccess =
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
  deps: Pick<CoreDeps, 'clock'> & Pick<AccessPorts, 'tokens'>,
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
  deps: Pick<CoreDeps, 'clock'> & Pick<AccessPorts, 'tokens'>,
  credential: string | undefined,
): Promise<TokenRecord | undefined> {
  if (!credential) return undefined;
  const token = await deps.tokens.find(tokenIdOf(credential));
  // Nobody has the secret of somebody who signed in: they have sessions.
  if (!token || token.hostUser || !sameDigest(token.secretSha256, sha256Hex(credential))) return undefined;
  return isExpired(token, deps.clock.nowMs()) ? undefined : token;
}

export function isExpired({ expiresAtMs }: { readonly expiresAtMs: number | null }, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}

/** True if the credential is the operator's token. */
export async function isAdmin(
  deps: Pick<AccessPorts, 'admin'>,
  credential: string | undefined,
): Promise<boolean> {
  if (credential === undefined) return false;
  const presented = sha256Hex(credential);
  return (await deps.admin.sha256s()).some((accepted) => sameDigest(accepted, presented));
}

/** Random base62 characters of a token: 238 bits. */
export const secretLength = 40;

export interface TokenGrant {
  readonly tenant: string;
  readonly scope: TokenScope;
  readonly label: string | null;
  /** Whom it stands for. */
  readonly user?: string | null;
  /** The repos that it is for. Without it: all of the tenant. */
  readonly repos?: readonly string[] | null;
  /** All that it reaches are files whose names begin with this. */
  readonly prefix?: string | undefined;
  /** Repos that it can push to although its scope is `read`. */
  readonly writeRepos?: readonly string[];
  readonly mayGc?: true;
  /** The rule that it is given by. It's worth nothing once that is deleted. */
  readonly ruleId?: string;
  /** How long it is valid. Without it: until it is revoked. */
  readonly lifetimeMs?: number | null;
}

interface CreatedToken {
  /** The secret. It is in this outcome and stored nowhere. */
  readonly token: string;
  readonly record: TokenRecord;
}

/** Creates a token for a tenant that exists. @throws {LedgerUnavailableError} */
export async function createToken(
  deps: Pick<CoreDeps, 'ids' | 'clock'> & Pick<AccessPorts, 'tokens'>,
  grant: TokenGrant,
): Promise<CreatedToken> {
  const token = `lfsq_${deps.ids.random(secretLength)}`;
  return { token, record: await putToken(deps, { grant, token, createdAtMs: deps.clock.nowMs() }) };
}

export type CreateTokenOnceOutcome =
  | ({ readonly kind: 'created' } & CreatedToken)
  /** The token that the key created was revoked since. */
  | { readonly kind: 'revoked' }
  | { readonly kind: 'key-reused' };

/**
 * Creates a token, at most once for a request key: a request that is repeated gets the same secret. The secret is
 * derived from the caller's own credential and a random seed that is kept with the key, so the table alone does not
 * give it away.
 *
 * @throws {LedgerUnavailableError}
 */
export async function createTokenOnce(
  deps: Pick<CoreDeps, 'ids' | 'clock'> & Pick<AccessPorts, 'tokens' | 'requestKeys'>,
  input: { grant: TokenGrant; credential: string; requestKey: string },
): Promise<CreateTokenOnceOutcome> {
  const claim = await claimToken(deps, input);
  return claim.kind === 'claimed' ? claim.create() : claim;
}

/**
 * What a request key has created. `claimed`: nothing yet. To create it is up to the caller.
 *
 * @throws {LedgerUnavailableError}
 */
export async function claimToken(
  deps: Pick<CoreDeps, 'ids' | 'clock'> & Pick<AccessPorts, 'tokens' | 'requestKeys'>,
  input: { grant: TokenGrant; credential: string; requestKey: string },
): Promise<
  CreateTokenOnceOutcome | { kind: 'claimed'; create: () => Promise<{ kind: 'created' } & CreatedToken> }
> {
  const { grant, credential, requestKey } = input;
  const purpose = `create token\n${grant.tenant}\n${sha256Hex(credential)}`;
  const claim = await claimRequest(deps, { purpose, requestKey, body: grant });
  if (claim.kind === 'key-reused') return claim;
  const { seed, beganAtMs, isDone } = claim.record;
  const token = derivedToken({ credential, seed });
  if (isDone) {
    const record = await deps.tokens.find(tokenIdOf(token));
    return record?.secretSha256 === sha256Hex(token)
      ? { kind: 'created', token, record }
      : { kind: 'revoked' };
  }
  const create = async () => {
    const record = await putToken(deps, { grant, token, createdAtMs: beganAtMs });
    await claim.finish();
    return { kind: 'created', token, record } as const;
  };
  return { kind: 'claimed', create };
}

/** A token that somebody gets who had none. */
export type GivenToken =
  | { readonly kind: 'created'; readonly token: string; readonly record: TokenRecord }
  /** The reason is for the log alone: who asks learns nothing of the tenant, but why it's suspended if it would have them. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly suspended?: string };

/** What a claim gives: nothing if its token has ended, or the key made another one. */
export function givenToken({ clock }: Pick<CoreDeps, 'clock'>, outcome: CreateTokenOnceOutcome): GivenToken {
  if (outcome.kind !== 'created') return { kind: 'rejected', reason: `the token: ${outcome.kind}` };
  if (!isExpired(outcome.record, clock.nowMs())) return outcome;
  return { kind: 'rejected', reason: 'the token has expired' };
}

/** How the audit has what somebody was given. */
export const givenVerdict = ({ kind }: GivenToken) =>
  kind === 'created'
    ? ({ outcome: 'succeeded' } as const)
    : ({ outcome: 'denied', reason: 'unauthorized' } as const);

async function putToken(
  deps: Pick<AccessPorts, 'tokens'>,
  input: { grant: TokenGrant; token: string; createdAtMs: number },
): Promise<TokenRecord> {
  const { grant, token, createdAtMs } = input;
  const {
    tenant,
    scope,
    label,
    user = null,
    repos = null,
    prefix,
    writeRepos,
    mayGc,
    ruleId,
    lifetimeMs = null,
  } = grant;
  const record: TokenRecord = {
    tokenId: tokenIdOf(token),
    secretSha256: sha256Hex(token),
    tenant,
    scope,
    label,
    user,
    repos,
    ...(prefix !== undefined && { prefix }),
    ...(writeRepos !== undefined && { writeRepos }),
    ...(mayGc && { mayGc }),
    ...(ruleId !== undefined && { ruleId }),
    createdAtMs,
    expiresAtMs: lifetimeMs === null ? null : createdAtMs + lifetimeMs,
    lastUsedAtMs: null,
  };
  if ((await deps.tokens.put(record)) === 'created') return record;
  // A repetition after a lost answer finds its own record. Another token's id differs in its hash.
  const found = await deps.tokens.find(record.tokenId);
  if (found?.secretSha256 !== record.secretSha256) throw new Error('Two tokens have the same id.');
  return found;
}

/**
 * Writes that a token was used, at most once an hour. Whoever uses it waits for that beside other reads, and it never
 * fails a request: when a token was used is worth less than the use.
 */
export async function noteTokenUse(
  { tokens, clock, log }: Pick<CoreDeps, 'clock' | 'log'> & Pick<AccessPorts, 'tokens'>,
  { tokenId, lastUsedAtMs }: Pick<TokenRecord, 'tokenId' | 'lastUsedAtMs'>,
): Promise<void> {
  const atMs = clock.nowMs();
  if (lastUsedAtMs !== null && atMs - lastUsedAtMs < tokenUseStepMs) return;
  try {
    await tokens.noteUse({ tokenId, atMs });
  } catch (error) {
    log.warn('token use not noted', { tokenId, error });
  }
}

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
  deps: Pick<CoreDeps, 'ids' | 'clock'> & Pick<AccessPorts, 'tokens' | 'admin'>,
  { token, organizations }: Holder & Pick<SessionRecord, 'organizations'>,
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
    ...(organizations && { organizations, organizationsAtMs: createdAtMs }),
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
  deps: Pick<CoreDeps, 'clock'> & Pick<AccessPorts, 'tokens' | 'admin'>,
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
  deps: Pick<AccessPorts, 'tokens'>,
  { session }: Pick<HeldSession, 'session'>,
): Promise<void> {
  await deps.tokens.deleteSession(session);
}

/** Ties a session to one credential. Without the session's secret, nobody can try which one it is. */
const boundTo = (secret: string, parentSha256: string) => sha256Hex(`${secret}\n${parentSha256}`);
