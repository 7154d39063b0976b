import * as z from 'zod';
import { isTenantName } from '../../../core/rules/names.ts';
import { type Frozen, nullable } from '../../../core/rules/stored.ts';
import {
  isForRepo,
  type TokenRecord,
  tokenIdOf,
  tokenScopes,
  userKeptMs,
} from '../../../frame/access/rules/tokens.ts';

/** One-time links that make a token for whoever accepts them, and codes that a manager types for a command line. */

export const invitationLifetimeMs = userKeptMs;

/** Open ones of a tenant. */
export const invitationsMax = 100;

/** So long, a request whose answer was lost can be repeated with its key. */
export const acceptedAgainMs = 10 * 60_000;

export const invitationSchema = z.object({
  tenant: z.string(),
  /** Public, as a token's id. */
  invitationId: z.string(),
  /** SHA-256 of the whole secret, in hex. */
  secretSha256: z.string(),
  scope: z.enum(tokenScopes),
  repos: nullable(z.array(z.string())),
  /** null: who accepts it says. */
  user: nullable(z.string()),
  /** Of the token. */
  lifetimeMs: z.number(),
  /** Id of the token or user that it was made by, and without whom it's worth nothing. null: the operator. */
  inviterId: nullable(z.string()),
  /** Whom the inviter stands for. */
  inviter: nullable(z.string()),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  /** The link lets somebody into the console, and gives nobody a token. */
  opensConsole: z.literal(true).exactOptional(),
  /** Absent: it's open. The SHA-256 is of the request's key: only the same request can be repeated. */
  accepted: z.object({ atMs: z.number(), keySha256: z.string(), user: nullable(z.string()) }).exactOptional(),
});
export type InvitationRecord = Frozen<z.output<typeof invitationSchema>>;

const secretPattern = /^([a-z0-9-]{1,64})\.(lfsi_[A-Za-z0-9]{40})$/;

/** What an invitation's secret names: where it is stored. undefined: it isn't one. */
export function parseInvitation(secret: string): { tenant: string; invitationId: string } | undefined {
  const [, tenant] = secretPattern.exec(secret) ?? [];
  if (tenant === undefined || !isTenantName(tenant)) return undefined;
  return { tenant, invitationId: tokenIdOf(secret) };
}

/** Whether an invitation can still be accepted, or its acceptance repeated. */
export function isKept({ accepted, expiresAtMs, opensConsole }: InvitationRecord, nowMs: number): boolean {
  return nowMs < (accepted ? accepted.atMs + (opensConsole ? 0 : acceptedAgainMs) : expiresAtMs);
}

/** When an inviter's token ends, and with it what it made. Somebody who signed in signs in again: nothing of theirs ends with that. */
const inviterEndsMs = ({ hostUser, expiresAtMs }: TokenRecord) =>
  (hostUser ? null : expiresAtMs) ?? Number.POSITIVE_INFINITY;

/**
 * Whether an inviter may still invite: their token manages the tenant. Of somebody who signed in with a git host, their last
 * sign-in tells, for as long as an invitation lasts.
 *
 * @param inviter as it is now. undefined: it was revoked, or what let them in isn't allowed any more.
 */
export function mayStillInvite(inviter: TokenRecord | undefined, nowMs: number): inviter is TokenRecord {
  return inviter?.scope === 'manage' && nowMs < inviterEndsMs(inviter);
}

/** The token of an accepted invitation lasts no longer than the inviter's. @param input.inviter undefined: the operator. */
export function invitedLifetimeMs(
  { lifetimeMs }: Pick<InvitationRecord, 'lifetimeMs'>,
  { inviter, atMs }: { inviter: TokenRecord | undefined; atMs: number },
): number {
  return Math.min(lifetimeMs, inviter ? inviterEndsMs(inviter) - atMs : lifetimeMs);
}

/** So long a command line waits for its code to be approved. */
export const deviceLifetimeMs = 10 * 60_000;

/** Of a token that a manager approved for a command line. */
export const deviceTokenLifetimeMs = 90 * 24 * 60 * 60_000;

/** How many wrong codes a tenant has, logins an address starts, and one who doesn't manage the tenant approves, in what time. */
export const deviceCounts = {
  tries: { max: 5, windowMs: deviceLifetimeMs },
  starts: { max: 100, windowMs: deviceLifetimeMs },
  approvals: { max: 20, windowMs: deviceTokenLifetimeMs },
} as const;

/** A command line that waits. Its secret becomes the token once it is approved: until then it's worth nothing. */
export const deviceSchema = z.object({
  userCodeSha256: z.string(),
  /** Id and SHA-256 of the token that it is to be. */
  tokenId: z.string(),
  secretSha256: z.string(),
  /** As the command line calls the machine that it runs on. */
  machine: z.string(),
  /** Where it was started from. */
  address: z.string().optional(),
  expiresAtMs: z.number(),
  /** Whose wrong codes count together with those of its approver. Absent: it waits. */
  approvedBy: z.string().optional(),
});
export type DeviceRecord = Frozen<z.output<typeof deviceSchema>>;

type Grant = Pick<TokenRecord, 'scope' | 'repos' | 'user'>;

/** Whether what is asked for is no more than what a token's holder has, and stands for the same user. */
export const isWithin = (own: Grant, asked: Grant): boolean =>
  asked.user === own.user &&
  tokenScopes.indexOf(asked.scope) <= tokenScopes.indexOf(own.scope) &&
  (own.repos === null || asked.repos?.every((repo) => isForRepo(own, repo)) === true);

/** No vowels, so it spells nothing, and nothing that looks like something else. */
const codeSigns = 'BCDFGHJKLMNPQRSTVWXZ';

const codeLength = 8;

/** A code of eight signs, `BCDF-GHJK`. @param random base62, long enough. undefined: too little of it counts. */
export function userCodeFrom(random: string): string | undefined {
  const signs = [...random].filter((sign) => codeSigns.includes(sign)).slice(0, codeLength);
  return signs.length < codeLength ? undefined : shownCode(signs.join(''));
}

/** A code as it was typed: in lower case, with spaces, or without its hyphen. undefined: it isn't one. */
export function parseUserCode(text: string): string | undefined {
  const signs = text.toUpperCase().replaceAll(/[\s-]/g, '');
  const isCode = signs.length === codeLength && [...signs].every((sign) => codeSigns.includes(sign));
  return isCode ? shownCode(signs) : undefined;
}

const shownCode = (signs: string) => `${signs.slice(0, 4)}-${signs.slice(4)}`;
