import { createHmac } from 'node:crypto';
import * as z from 'zod';
import { sha256Hex } from '../../../core/rules/hash.ts';
import { type Frozen, nullable } from '../../../core/rules/stored.ts';
import { nameOfHostUser } from './host-user.ts';

/** What a token may do, each more than the one before: `read` pulls, `write` pushes, `manage` administers its own tenant. */
export const tokenScopes = ['read', 'write', 'manage'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** What is asked for, and shown: `gc` is `write`, and may also collect garbage. */
export const grantScopes = ['read', 'write', 'gc', 'manage'] as const;

/** A scope as it is stored. A version that doesn't know `gc` reads it as `write`. */
export const rightsOf = <S extends (typeof grantScopes)[number]>(
  scope: S,
): { scope: Exclude<S, 'gc'> | 'write'; mayGc?: true } => ({
  scope: (scope === 'gc' ? 'write' : scope) as Exclude<S, 'gc'> | 'write',
  ...(scope === 'gc' && { mayGc: true as const }),
});

/** A stored scope, as it is shown. */
export const scopeOf = <S extends TokenScope>({ scope, mayGc }: { scope: S; mayGc?: true | undefined }) =>
  mayGc ? ('gc' as const) : scope;

export const tokenSchema = z.object({
  /** Public: identifies the token in lists, and to revoke it. */
  tokenId: z.string(),
  /** SHA-256 of the whole token, in hex. */
  secretSha256: z.string(),
  tenant: z.string(),
  scope: z.enum(tokenScopes),
  label: nullable(z.string()),
  /** Whom or what it stands for, by name. Who created it vouches for that. null: nobody said. */
  user: nullable(z.string()),
  /** The repos that it is for. null: all of the tenant. */
  repos: nullable(z.array(z.string())),
  /** All that it reaches are files whose names begin with this. None with the scope `manage` has it. */
  prefix: z.string().optional(),
  /** The exchange rule that it was given by. */
  ruleId: z.string().optional(),
  /** The token by which its user approved it for another machine of theirs. It's worth nothing once that is deleted. */
  parentId: z.string().optional(),
  /** Repos that it can push to although its scope is `read`. */
  writeRepos: z.array(z.string()).optional(),
  /** With the scope `write`: garbage collection, never of more than half. */
  mayGc: z.literal(true).optional(),
  /** Who signed in with a git host. Nobody has the secret of such a token: only sessions stand below it. */
  hostUser: z.object({ id: z.string(), login: z.string() }).optional(),
  /** By what they may. */
  allowedBy: z
    .object({
      /** The number of the organization at their host. */
      organizationId: z.string(),
      /** What they are to it. */
      role: z.enum(['owner', 'member', 'collaborator']),
      /** When the organization was allowed. It's worth nothing once that has ended or changed. */
      sinceMs: z.number(),
    })
    .optional(),
  createdAtMs: z.number(),
  /** It is worth nothing from then on. null: never. */
  expiresAtMs: nullable(z.number()),
  /** About when it was last used: within {@link tokenUseStepMs}. null: not yet. */
  lastUsedAtMs: nullable(z.number()),
});
export type TokenRecord = Frozen<z.output<typeof tokenSchema>>;

/** Who asks: somebody with a token of ours, or whom a git host vouches for. */
export type Caller = Pick<TokenRecord, 'tokenId' | 'scope' | 'user' | 'label' | 'ruleId' | 'hostUser'> &
  Partial<Pick<TokenRecord, 'repos' | 'prefix'>>;

/** Whom a token stands for, to show. */
export const userOf = ({ hostUser, user, label }: Pick<Caller, 'hostUser' | 'user' | 'label'>) =>
  hostUser ? nameOfHostUser(hostUser) : (user ?? label);

/**
 * The token whose end ends what its holder began. undefined: whoever asks has none that lasts. A CI job's ends with the job,
 * and a git host's user has none of ours.
 */
export function lastingTokenId({ tokenId, ruleId, hostUser }: Caller): string | undefined {
  return ruleId === undefined && hostUser === undefined ? tokenId : undefined;
}

/** Whether a token may push to a repo that it is for. */
export function mayPush(
  { scope, writeRepos }: Pick<TokenRecord, 'scope' | 'writeRepos'>,
  repo: string,
): boolean {
  return scope !== 'read' || writeRepos?.includes(repo) === true;
}

/** Whether a token may collect garbage of a repo that it is for. */
export const mayCollect = ({ scope, mayGc }: Pick<TokenRecord, 'scope' | 'mayGc'>) =>
  scope === 'manage' || mayGc === true;

/**
 * Why a token with a prefix may not do what is asked. undefined: it may, or has none.
 *
 * @param names what the request reaches: names of files, or what they begin with. Byte for byte, as a store lists. All of it must
 * begin with the token's prefix: who lists or deletes by a shorter one would take a part for all. 'others': not only files.
 */
export function beyondPrefix(
  { prefix }: Pick<TokenRecord, 'prefix'>,
  names: readonly string[] | 'others',
): string | undefined {
  if (prefix === undefined) return undefined;
  if (names !== 'others' && names.every((name) => name.startsWith(prefix))) return undefined;
  return `This token is only for files that start with ${prefix}. Use a token without a prefix.`;
}

/** How exactly the last use of a token is known. A use within this time of the last known one is not written. */
export const tokenUseStepMs = 60 * 60_000;

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

/** So long after they last signed in it's known who a git host's user was: their invitations are worth something no longer. */
export const userKeptMs = 7 * 24 * 60 * 60_000;

/** Whether a token is listed: until some time after it has expired. */
export function isListed({ expiresAtMs }: { readonly expiresAtMs: number | null }, nowMs: number): boolean {
  return expiresAtMs === null || nowMs < expiresAtMs + shownAfterExpiryMs;
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A token derived from a secret credential and a random seed. Without both of them nobody can compute it. 256 bits, as
 * 43 characters of base62.
 */
export function derivedToken(from: { credential: string; seed: string }): string {
  return `lfsq_${derivedText(from)}`;
}

/** The same without what a token begins with. */
export function derivedText(from: { credential: string; seed: string }): string {
  let value = BigInt(`0x${createHmac('sha256', from.credential).update(from.seed).digest('hex')}`);
  let text = '';
  for (let length = 0; length < 43; length += 1) {
    text = `${base62[Number(value % 62n)]}${text}`;
    value /= 62n;
  }
  return text;
}

/** A session of the console: below the token that it stands for, and worth nothing without it. */
export const sessionSchema = z.object({
  /** Names it below its parent. */
  sessionId: z.string(),
  /** The id of the token that it stands for, or what stands for the operator. */
  parentId: z.string(),
  /** SHA-256 of its secret, in hex. */
  secretSha256: z.string(),
  /** Ties it to its parent's credential of now, in hex: a rotated admin token ends the operator's sessions. */
  boundTo: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  /** Organizations that a git host said its holder is in, and when. */
  organizations: z
    .array(
      z.object({
        /** The id of the host. */
        host: z.string(),
        /** Its number there, which nobody can take over as they can a name. */
        organizationId: z.string(),
        /** What it was called when it was last seen, for people to read. */
        name: z.string(),
      }),
    )
    .optional(),
  organizationsAtMs: z.number().optional(),
});
export type SessionRecord = Frozen<z.output<typeof sessionSchema>>;

/** How long a session lasts, unless the token that it stands for ends before. */
export const sessionLifetimeMs = 12 * 60 * 60_000;

/** How long somebody is signed in by a git host, until it's asked again. */
export const signedInMs = 8 * 60 * 60_000;

/** What a git host said of somebody is enough to change things for so long. */
export const hostCheckMs = 60 * 60_000;

/** Whether a git host must be asked again before the holder of a session changes something. */
export function mustSignInAgain(
  held: { readonly token?: TokenRecord | undefined; readonly session?: SessionRecord | undefined },
  nowMs: number,
): boolean {
  if (!held.token?.hostUser) return false;
  return held.session === undefined || nowMs >= held.session.createdAtMs + hostCheckMs;
}

/** What the operator's sessions lie below. No token has such an id. */
export const operatorParent = 'operator';

/**
 * What the cookie holds: the id of the session's parent, by which it is found in one read, and the secret.
 *
 * @returns undefined: it is none.
 */
export function parseSession(value: string): { parentId: string; secret: string } | undefined {
  const [, parentId, secret] = /^(operator|[0-9a-f]{16})\.(lfss_[A-Za-z0-9]{40})$/.exec(value) ?? [];
  return parentId === undefined || secret === undefined ? undefined : { parentId, secret };
}

export interface AdminCredential {
  /**
   * SHA-256 of the credential, in hex, and of the one before while that is still accepted. Compare them in constant
   * time.
   */
  sha256s(): Promise<readonly string[]>;
}
