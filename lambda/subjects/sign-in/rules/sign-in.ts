import { createHash } from 'node:crypto';
import * as z from 'zod';
import { sha256Hex } from '../../../core/rules/hash.ts';
import { isTenantName } from '../../../core/rules/names.ts';
import type { Frozen } from '../../../core/rules/stored.ts';
import type { HostUser } from '../../../frame/access/rules/host-user.ts';
import {
  derivedText,
  type SessionRecord,
  type TokenRecord,
  type TokenScope,
  tokenScopes,
} from '../../../frame/access/rules/tokens.ts';
import { type GitHostKind, type SignInHost, webUrlOf } from '../../hosts/rules/git-hosts.ts';

/** An organization of a host: GitLab calls it a group. */
export type HostOrganization = NonNullable<SessionRecord['organizations']>[number];

/** By what somebody may sign in. */
type Allowance = NonNullable<TokenRecord['allowedBy']>;

const scope = z.enum(tokenScopes).nullable();

/** An organization of a git host that a tenant lets in, and what its users can do. null: nothing. */
export const allowedSchema = z.object({
  tenant: z.string(),
  host: z.string(),
  organizationId: z.string(),
  name: z.string(),
  owners: scope,
  members: scope,
  /** Whether users outside the organization are let in to the linked repos that they can use at the host. */
  collaborators: z.boolean(),
  /** When this was decided. A change ends who signed in before. */
  sinceMs: z.number(),
});
export type AllowedOrganization = Frozen<z.output<typeof allowedSchema>>;

/** Whether what let somebody in is still as it was then. */
export const isStillAllowed = (
  organizations: readonly AllowedOrganization[],
  by: { readonly host: string; readonly organizationId: string; readonly sinceMs: number },
) =>
  organizations.some(
    ({ host, organizationId, sinceMs }) =>
      host === by.host && organizationId === by.organizationId && sinceMs === by.sinceMs,
  );

/** Organizations that a tenant can let in. */
export const allowedOrganizationsMax = 20;
/** Tenants that an organization can be let in to: who signs in has all of them looked up. */
export const tenantsPerOrganizationMax = 20;
/** The same if the operator adds one: members who manage many tenants keep nobody else out. */
export const tenantsByOperatorMax = 40;
/** Organizations of a user that are looked at. */
export const userOrganizationsMax = 100;
/** Linked repos that the host is asked about while a user signs in. */
export const askedReposMax = 50;

/** A sign-in that has started: the browser is at the host. */
export const loginSchema = z.object({
  /** SHA-256 of the cookie, in hex. All that must stay secret is derived from the cookie, so the table has nothing. */
  loginId: z.string(),
  host: z.string(),
  /** The console's view to show then: `#acme/repos`. */
  next: z.string(),
  /** It isn't to sign in: it shows an admin's session which organizations they are in. */
  addsOrganization: z.boolean(),
  expiresAtMs: z.number(),
});
export type LoginRecord = Frozen<z.output<typeof loginSchema>>;

/** How long a user has to come back from the host. */
export const loginKeptMs = 10 * 60_000;

/** What the cookie of a sign-in is. */
export const loginPattern = /^lfsl_[A-Za-z0-9]{40}$/;

export const loginIdOf = (cookie: string) => sha256Hex(cookie);
/** What the host must bring back. 256 bits, bound to browser and host. */
export const stateOf = (cookie: string, host: string) =>
  derivedText({ credential: cookie, seed: `state\n${host}` });
/** The secret of PKCE. @see https://www.rfc-editor.org/rfc/rfc7636 */
export const verifierOf = (cookie: string) => derivedText({ credential: cookie, seed: 'verifier' });

/** A view of the console: what stands behind the `#`, never a URL. */
export const nextPattern = /^#[A-Za-z0-9_~./?&=%-]{0,200}$/;

/** The tenant of a view. undefined: it's of none. */
export function tenantOfView(next: string): string | undefined {
  const [, name = ''] = /^#([^/?]+)/.exec(next) ?? [];
  return isTenantName(name) ? name : undefined;
}

const authorizePaths: Readonly<Record<GitHostKind, string>> = {
  github: '/login/oauth/authorize',
  gitea: '/login/oauth/authorize',
  gitlab: '/oauth/authorize',
};

/** GitHub's apps have permissions instead. */
const scopes: Readonly<Record<GitHostKind, string | undefined>> = {
  github: undefined,
  gitea: 'read:user read:organization read:repository',
  gitlab: 'read_api',
};

/** Where the browser is sent. */
export function authorizeUrl(
  host: SignInHost,
  { cookie, redirectUri }: { cookie: string; redirectUri: string },
) {
  const scope = scopes[host.kind];
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: host.signIn.clientId,
    redirect_uri: redirectUri,
    state: stateOf(cookie, host.id),
    code_challenge: createHash('sha256').update(verifierOf(cookie)).digest('base64url'),
    code_challenge_method: 'S256',
    ...(scope !== undefined && { scope }),
  });
  return `${webUrlOf(host)}${authorizePaths[host.kind]}?${query}`;
}

/** Whether a response's `iss` is the host's. @see https://www.rfc-editor.org/rfc/rfc9207 */
export function isIssuer(host: SignInHost, issuer: string): boolean {
  return URL.canParse(issuer) && new URL(issuer).origin === new URL(webUrlOf(host)).origin;
}

/** Who signs in, as the host says. */
export interface HostIdentity {
  readonly hostUser: HostUser;
  readonly organizations: readonly (HostOrganization & {
    readonly role: Exclude<Allowance['role'], 'collaborator'>;
  })[];
}

/** By which organization a user may sign in to a tenant, and with which scope for all of it. */
export interface WayIn {
  readonly tenant: string;
  readonly scope: TokenScope;
  readonly allowedBy: Allowance;
}

const ranks: Readonly<Record<TokenScope, number>> = { read: 0, write: 1, manage: 2 };

/** The best way in to each tenant that allows an organization of the user's. */
export function waysIn(
  { organizations }: Pick<HostIdentity, 'organizations'>,
  allowed: readonly AllowedOrganization[],
): readonly WayIn[] {
  const best = new Map<string, WayIn>();
  for (const { tenant, organizationId, host, sinceMs, owners, members } of allowed) {
    const own = organizations.find((each) => each.host === host && each.organizationId === organizationId);
    const scope = own?.role === 'owner' ? owners : members;
    if (!own || !scope) continue;
    const before = best.get(tenant);
    if (before && ranks[before.scope] >= ranks[scope]) continue;
    best.set(tenant, { tenant, scope, allowedBy: { organizationId, role: own.role, sinceMs } });
  }
  return [...best.values()].sort((a, b) => (a.tenant < b.tenant ? -1 : 1));
}

/** The id of who signed in to a tenant: the same each time, so a user is there once. No token's secret has it. */
export function userIdOf({ tenant, hostUser }: { tenant: string; hostUser: HostUser }): string {
  return sha256Hex(`user\n${tenant}\n${hostUser.id}`).slice(0, 16);
}

/** How long it's enough that a host said which organizations a user is in. */
const organizationsKnownMs = 60 * 60_000;

/** The organizations that the holder of a session is in, if the host said so lately. */
export function organizationsOf(
  session: SessionRecord | undefined,
  nowMs: number,
): readonly HostOrganization[] {
  const { organizations = [], organizationsAtMs = 0 } = session ?? {};
  return nowMs < organizationsAtMs + organizationsKnownMs ? organizations : [];
}
