import { hostOf } from '../../frame/access/rules/host-user.ts';
import type { TokenRecord } from '../../frame/access/rules/tokens.ts';
import { isExpired } from '../../frame/access/tokens.ts';
import { json, noContent } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { operationsFor, pathId } from '../../frame/management/operations.ts';
import type { HostPorts } from '../hosts/ports.ts';
import { type GitHost, signInHostsOf, webUrlOf } from '../hosts/rules/git-hosts.ts';
import type { SignInPorts } from './ports.ts';
import {
  type AllowedOrganization,
  allowedOrganizationsMax,
  isStillAllowed,
  organizationsOf,
  tenantsByOperatorMax,
} from './rules/sign-in.ts';
import { type OrganizationBody, type SignedInUserBody, userContract } from './user-contract.ts';

type Needs = Pick<HostPorts, 'gitHosts'> & Pick<SignInPorts, 'users' | 'userEnds'>;

const userOperations = operationsFor<Needs>()(userContract, {
  'GET /v1/tenants/{tenant}/users': async (deps, { tenant: { tenant }, session }) => {
    const [organizations, users] = await Promise.all([
      deps.users.list(tenant),
      deps.tokens.listUsers(tenant),
    ]);
    const nowMs = deps.clock.nowMs();
    return json(200, {
      organizations: organizations.map(organizationBody),
      // What is no longer allowed is worth nothing.
      users: users
        .filter((user) => !isExpired(user, nowMs))
        .flatMap((user) => userBody(user, organizations) ?? []),
      yours: [...organizationsOf(session, nowMs)],
      gitHosts: deps.gitHosts.map(({ id }) => id),
    });
  },

  'DELETE /v1/tenants/{tenant}/users/{userId}': async (deps, { tenant: { tenant }, event, trail }) => {
    const userId = pathId(event, 'userId') ?? '';
    const user = userId === '' ? undefined : await deps.tokens.find(userId);
    const isTheirs = user?.tenant === tenant && user.hostUser !== undefined;
    if (isTheirs) trail.was({ hostUser: user.hostUser?.id, user: user.user });
    // First: what they made can't be found by them afterwards.
    if (isTheirs) for (const end of deps.userEnds) await end({ tenant, userId });
    const outcome = isTheirs && (await deps.tokens.delete({ tenant, tokenId: userId }));
    return outcome === 'deleted'
      ? noContent()
      : problem('user-not-found', `${tenant} has no signed-in user with that id.`);
  },

  'PUT /v1/tenants/{tenant}/organizations': async (deps, input) => {
    const { tenant, body, isAdmin, session, trail } = input;
    const { host, organizationId, owners = 'manage', members = 'read', collaborators = false } = body;
    if (!signInHostsOf(deps.gitHosts).some(({ id }) => id === host))
      return problem('invalid-body', `host: must be one of: ${namesOf(deps.gitHosts)}.`);
    const isThis = (each: { host: string; organizationId: string }) =>
      each.host === host && each.organizationId === organizationId;
    const nowMs = deps.clock.nowMs();
    const own = organizationsOf(session, nowMs).find(isThis);
    if (!isAdmin && !own)
      return problem(
        'organization-not-yours',
        `Sign in with ${host} as a member of organization ${organizationId}, then repeat this. Your operator can also allow it.`,
      );
    const allowed = await deps.users.list(tenant.tenant);
    const before = allowed.find(isThis);
    if (!before && allowed.length >= allowedOrganizationsMax)
      return problem(
        'organizations-full',
        `${tenant.tenant} allows ${allowedOrganizationsMax} organizations, the maximum. Remove one first.`,
      );
    const name = own?.name ?? body.name ?? before?.name ?? organizationId;
    const change = { tenant: tenant.tenant, host, organizationId, name, owners, members, collaborators };
    if (before) trail.was(organizationBody(before));
    // Never the time of an earlier one: whoever signed in by that is signed out.
    const now: AllowedOrganization = { ...change, sinceMs: Math.max(nowMs, (before?.sinceMs ?? 0) + 1) };
    if ((await deps.users.allow(now, isAdmin ? tenantsByOperatorMax : undefined)) === 'full')
      return problem('organizations-full', 'Too many tenants allow this organization. Ask your operator.');
    const shown = organizationBody(now);
    trail.became(shown);
    return json(200, shown);
  },

  'DELETE /v1/tenants/{tenant}/organizations': async (deps, { tenant: { tenant }, query, trail }) => {
    const before = await deps.users.disallow({ tenant, ...query });
    if (!before) return problem('organization-not-found', `${tenant} doesn't allow this organization.`);
    trail.was(organizationBody(before));
    return noContent();
  },
});

/** The routes of the function `management`. */
export const signInOperations = {
  ...userOperations,
  /** Whom somebody can sign in with. It is for everybody. */
  'GET /v1/sign-in': async ({ gitHosts }: Pick<HostPorts, 'gitHosts'>) => {
    const hosts = signInHostsOf(gitHosts).map((host) => ({
      id: host.id,
      kind: host.kind,
      url: webUrlOf(host),
    }));
    return json(200, { hosts });
  },
};

const namesOf = (hosts: readonly GitHost[]) =>
  signInHostsOf(hosts)
    .map(({ id }) => id)
    .join(', ') || 'none';

function organizationBody(allowed: AllowedOrganization): OrganizationBody {
  const { tenant: _tenant, sinceMs, ...rest } = allowed;
  return { ...rest, since: iso(sinceMs) };
}

/** @returns undefined: what let them in has ended or changed, or it's no user. */
function userBody(
  token: TokenRecord,
  organizations: readonly AllowedOrganization[],
): SignedInUserBody | undefined {
  const {
    tokenId,
    hostUser,
    user,
    scope,
    repos,
    writeRepos = [],
    allowedBy,
    expiresAtMs,
    lastUsedAtMs,
  } = token;
  if (!hostUser || !allowedBy || expiresAtMs === null) return undefined;
  if (!isStillAllowed(organizations, { ...allowedBy, host: hostOf(hostUser) })) return undefined;
  return {
    userId: tokenId,
    hostUser: hostUser.id,
    user,
    scope,
    repos: repos && [...repos],
    writeRepos: [...writeRepos],
    role: allowedBy.role,
    organizationId: allowedBy.organizationId,
    signedInAt: iso(token.createdAtMs),
    expiresAt: iso(expiresAtMs),
    lastUsedAt: lastUsedAtMs === null ? null : iso(lastUsedAtMs),
  };
}
