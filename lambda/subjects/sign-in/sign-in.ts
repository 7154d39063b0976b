import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { sameDigest, sha256Hex } from '../../core/rules/hash.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { isInForce } from '../../frame/access/rules/repo-mark.ts';
import { suspension } from '../../frame/access/rules/suspension.ts';
import { type SessionRecord, signedInMs, type TokenRecord } from '../../frame/access/rules/tokens.ts';
import { beginSession, type HeldSession } from '../../frame/access/tokens.ts';
import type { HostPorts } from '../hosts/ports.ts';
import { type SignInHost, signInHostsOf } from '../hosts/rules/git-hosts.ts';
import type { SignInPorts } from './ports.ts';
import {
  askedReposMax,
  authorizeUrl,
  type HostIdentity,
  isIssuer,
  type LoginRecord,
  loginIdOf,
  loginKeptMs,
  stateOf,
  tenantOfView,
  userIdOf,
  verifierOf,
  type WayIn,
  waysIn,
} from './rules/sign-in.ts';

export type SignInDeps = Pick<CoreDeps, 'ledger' | 'ids' | 'clock' | 'log'> &
  Pick<HostPorts, 'gitHosts' | 'linkedRepos'> &
  Pick<SignInPorts, 'signInHosts' | 'users'> &
  Pick<AccessPorts, 'tokens' | 'admin'>;

/**
 * Starts to sign somebody in.
 *
 * @returns `cookie` is stored nowhere. undefined: the host is none to sign in with.
 * @throws {LedgerUnavailableError}
 */
export async function startSignIn(
  {
    gitHosts,
    users,
    ids,
    clock,
  }: Pick<CoreDeps, 'ids' | 'clock'> & Pick<HostPorts, 'gitHosts'> & Pick<SignInPorts, 'users'>,
  input: Pick<LoginRecord, 'host' | 'next' | 'addsOrganization'> & { redirectUri: string },
): Promise<{ cookie: string; url: string } | undefined> {
  const { redirectUri, ...login } = input;
  const host = signInHostsOf(gitHosts).find(({ id }) => id === login.host);
  if (!host) return undefined;
  const cookie = `lfsl_${ids.random(40)}`;
  await users.putLogin({ ...login, loginId: loginIdOf(cookie), expiresAtMs: clock.nowMs() + loginKeptMs });
  return { cookie, url: authorizeUrl(host, { cookie, redirectUri }) };
}

export type SignInOutcome =
  | {
      readonly kind: 'signed-in';
      /** For the cookie. It is stored nowhere. */
      readonly value: string;
      readonly session: SessionRecord;
      readonly token: TokenRecord;
      readonly tenants: readonly string[];
      readonly next: string;
    }
  /** Several tenants let them in: they choose, and start again. */
  | { readonly kind: 'choose'; readonly tenants: readonly string[]; readonly next: string }
  /** The session that there is knows the organizations of its holder now. */
  | ({ readonly kind: 'added'; readonly next: string } & HeldSession)
  /** The reason is for the log alone. @param detail for somebody whom the tenant lets in otherwise. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly detail?: string };

interface Returned {
  readonly cookie: string;
  /** Which host's redirect URI the browser came back to. */
  readonly hostId: string;
  readonly code: string;
  readonly state: string;
  readonly issuer: string | undefined;
  readonly redirectUri: string;
}

/**
 * Finishes it. What the browser holds counts once, whatever comes of it.
 *
 * @param input.held the session that the browser has already, if it has one.
 * @throws {LedgerUnavailableError | GitHostUnavailableError}
 */
export async function finishSignIn(
  deps: SignInDeps,
  { held, ...returned }: Returned & { held: HeldSession | undefined },
): Promise<SignInOutcome> {
  const login = await deps.users.takeLogin(loginIdOf(returned.cookie));
  if (!login || login.expiresAtMs <= deps.clock.nowMs())
    return { kind: 'rejected', reason: 'this browser has started no sign-in' };
  const host = signInHostsOf(deps.gitHosts).find(({ id }) => id === login.host);
  if (!host) return { kind: 'rejected', reason: 'unknown git host' };
  const { cookie, hostId, code, state, issuer, redirectUri } = returned;
  if (hostId !== host.id) return { kind: 'rejected', reason: 'it came back from another host' };
  if (!sameDigest(sha256Hex(stateOf(cookie, host.id)), sha256Hex(state)))
    return { kind: 'rejected', reason: 'wrong state' };
  if (issuer !== undefined && !isIssuer(host, issuer))
    return { kind: 'rejected', reason: 'another host returned it' };
  const token = await deps.signInHosts.trade({ host, code, verifier: verifierOf(cookie), redirectUri });
  if (token === undefined) return { kind: 'rejected', reason: 'the host rejected the code' };
  try {
    const identity = await deps.signInHosts.identify({ host, token });
    if (identity.kind === 'refused') return { kind: 'rejected', reason: `the host says: ${identity.reason}` };
    if (login.addsOrganization) return await noteOrganizations(deps, { login, identity, held });
    return await letIn(deps, { host, token, login, identity });
  } finally {
    await revoke(deps, { host, token });
  }
}

/** Never throws: whoever signs in has nothing to do with it. */
async function revoke(
  { signInHosts, log }: Pick<CoreDeps, 'log'> & Pick<SignInPorts, 'signInHosts'>,
  of: { host: SignInHost; token: string },
): Promise<void> {
  try {
    await signInHosts.revoke(of);
  } catch (error) {
    log.warn('token of a git host not revoked', { host: of.host.id, error });
  }
}

/** Tells the session of a tenant's admin which organizations they are in. */
async function noteOrganizations(
  { tokens, clock }: Pick<CoreDeps, 'clock'> & Pick<AccessPorts, 'tokens'>,
  input: { login: LoginRecord; identity: HostIdentity; held: HeldSession | undefined },
): Promise<SignInOutcome> {
  const { next } = input.login;
  const { token, session } = input.held ?? {};
  if (!session || token?.scope !== 'manage' || token.tenant !== tenantOfView(next))
    return { kind: 'rejected', reason: "the session doesn't manage the tenant" };
  const organizations = input.identity.organizations.map(({ role: _role, ...organization }) => organization);
  const known = { ...session, organizations, organizationsAtMs: clock.nowMs() };
  await tokens.noteOrganizations(known);
  return { kind: 'added', token, session: known, next };
}

interface Identified {
  readonly host: SignInHost;
  readonly token: string;
  readonly login: LoginRecord;
  readonly identity: HostIdentity;
}

/** What somebody may do in a tenant. */
type Rights = Pick<TokenRecord, 'tenant' | 'scope' | 'repos' | 'writeRepos' | 'allowedBy'>;

async function letIn(deps: SignInDeps, identified: Identified): Promise<SignInOutcome> {
  const { login, identity } = identified;
  const ways = waysIn(identity, await deps.users.findAllowed(identity.organizations));
  const tenants = ways.map(({ tenant }) => tenant);
  const wanted = tenantOfView(login.next);
  const way = ways.find(({ tenant }) => tenant === wanted);
  const asCollaborator =
    !way && wanted !== undefined ? await collaboratorIn(deps, wanted, identified) : undefined;
  if (!way && !asCollaborator && ways.length > 1) return { kind: 'choose', tenants, next: login.next };
  const [only] = ways;
  const chosen = way ?? (asCollaborator ? undefined : only);
  const rights = chosen ? await rightsOf(deps, chosen, identified) : asCollaborator;
  if (!rights) return { kind: 'rejected', reason: 'no tenant lets them in' };
  const { tenant } = rights;
  const record = await deps.ledger.readTenant(tenant);
  if (record?.closedAtMs !== null) return { kind: 'rejected', reason: 'the tenant is deleted' };
  const suspended = suspension(record, 'all');
  if (suspended !== undefined)
    return { kind: 'rejected', reason: 'the tenant is suspended', detail: suspended };
  const started = await startSession(deps, { identity, rights });
  const next = tenant === wanted ? login.next : `#${tenant}`;
  return { kind: 'signed-in', ...started, tenants: tenants.length > 0 ? tenants : [tenant], next };
}

/** Of a whole tenant, and where they can push although they only read. */
async function rightsOf(deps: SignInDeps, way: WayIn, identified: Identified): Promise<Rights> {
  const { tenant, scope, allowedBy } = way;
  const writeRepos =
    scope === 'read' ? reposWith('write', await linkedAccess(deps, tenant, identified)) : undefined;
  return { tenant, scope, repos: null, ...(writeRepos && { writeRepos }), allowedBy };
}

/** Of somebody outside the organizations: the linked repos that they can use at the host, if the tenant allows it. */
async function collaboratorIn(
  deps: SignInDeps,
  tenant: string,
  identified: Identified,
): Promise<Rights | undefined> {
  const allowed = (await deps.users.list(tenant)).find(
    ({ host, collaborators }) => collaborators && host === identified.host.id,
  );
  if (!allowed) return undefined;
  const access = await linkedAccess(deps, tenant, identified);
  if (access.size === 0) return undefined;
  const { organizationId, sinceMs } = allowed;
  return {
    tenant,
    scope: 'read',
    repos: [...access.keys()],
    writeRepos: reposWith('write', access),
    allowedBy: { organizationId, sinceMs, role: 'collaborator' },
  };
}

const reposWith = (wanted: string, access: ReadonlyMap<string, string>) =>
  [...access].flatMap(([repo, found]) => (found === wanted ? [repo] : []));

/**
 * What the host lets them do in the linked repos of a tenant: the first 50 by name. One whose number isn't known yet
 * counts after its first use by git.
 */
async function linkedAccess(
  { linkedRepos, ledger, signInHosts }: SignInDeps,
  tenant: string,
  { host, token }: Identified,
): Promise<ReadonlyMap<string, 'read' | 'write'>> {
  const linked = (await linkedRepos.list(tenant))
    .filter((each) => each.host === host.id && each.linkedId !== null)
    .slice(0, askedReposMax);
  const found = await signInHosts.accessTo({ host, token, names: linked.map(({ name }) => name) });
  const access = new Map<string, 'read' | 'write'>();
  for (const each of linked) {
    const { repo, name, linkedId } = each;
    const answer = found.get(name);
    if (answer?.linkedId !== linkedId || !answer) continue;
    if (isInForce(each, await ledger.readRepo({ tenant, repo }))) access.set(repo, answer.access);
  }
  return access;
}

/** The session stands below what their rights are kept in: one item for each user and tenant. */
async function startSession(
  deps: SignInDeps,
  { identity: { hostUser, organizations }, rights }: { identity: HostIdentity; rights: Rights },
): Promise<{ value: string; session: SessionRecord; token: TokenRecord }> {
  const tokenId = userIdOf({ tenant: rights.tenant, hostUser });
  const createdAtMs = deps.clock.nowMs();
  const before = await deps.tokens.find(tokenId);
  const token: TokenRecord = {
    ...rights,
    tokenId,
    // Of a secret that nobody has. It stays, as their other sessions depend on it.
    secretSha256: before?.secretSha256 ?? sha256Hex(deps.ids.random(40)),
    label: null,
    user: hostUser.login,
    hostUser,
    createdAtMs,
    expiresAtMs: createdAtMs + signedInMs,
    lastUsedAtMs: createdAtMs,
  };
  await deps.tokens.putUser(token);
  const named = organizations.map(({ role: _role, ...organization }) => organization);
  return { token, ...(await beginSession(deps, { token, organizations: named })) };
}
