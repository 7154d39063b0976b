import type { Deps } from '../../deps.ts';
import { derivedToken, type TokenRecord, type TokenScope, tokenIdOf } from '../../domain/token.ts';
import { sha256Hex } from '../../rules/hash.ts';
import { claimRequest } from './request-key.ts';

/** Random base62 characters of a token: 238 bits. */
const secretLength = 40;

/** What a token is to be. */
export interface TokenGrant {
  readonly tenant: string;
  readonly scope: TokenScope;
  readonly label: string | null;
  /** Whom it stands for. */
  readonly user?: string | null;
  /** The repos that it is for. Without it: all of the tenant. */
  readonly repos?: readonly string[] | null;
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
  deps: Pick<Deps, 'tokens' | 'ids' | 'clock'>,
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
  deps: Pick<Deps, 'tokens' | 'requestKeys' | 'ids' | 'clock'>,
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
  deps: Pick<Deps, 'tokens' | 'requestKeys' | 'ids' | 'clock'>,
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

async function putToken(
  deps: Pick<Deps, 'tokens'>,
  input: { grant: TokenGrant; token: string; createdAtMs: number },
): Promise<TokenRecord> {
  const { grant, token, createdAtMs } = input;
  const { tenant, scope, label, user = null, repos = null, ruleId, lifetimeMs = null } = grant;
  const record: TokenRecord = {
    tokenId: tokenIdOf(token),
    secretSha256: sha256Hex(token),
    tenant,
    scope,
    label,
    user,
    repos,
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
