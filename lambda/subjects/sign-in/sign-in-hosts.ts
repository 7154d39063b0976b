import * as z from 'zod';
import { mapLimited } from '../../core/rules/async.ts';
import {
  accountShape,
  answerMs,
  apiHeaders,
  apiPaths,
  askKind,
  type Got,
  getUser,
  login,
  numberId,
  parsed,
  refusalOf,
  requestJson,
  userShape,
} from '../hosts/git-hosts.ts';
import { type GitHostKind, type SignInHost, webUrlOf } from '../hosts/rules/git-hosts.ts';
import { GitHostUnavailableError, type HostAccess } from '../hosts/rules/host-client.ts';
import { type HostIdentity, type HostOrganization, userOrganizationsMax } from './rules/sign-in.ts';

/** A host's token while somebody signs in: never stored, and revoked at the end. */
interface HostToken {
  readonly host: SignInHost;
  readonly token: string;
}

type IdentifyOutcome =
  | ({ readonly kind: 'identified' } & HostIdentity)
  /** The reason is for the log. */
  | { readonly kind: 'refused'; readonly reason: string };

/** Repositories that one sign-in asks about at a time. */
const atOnceMax = 8;
const accessMs = 6_000;
/** A hundred organizations of GitHub are some 400 kB. */
const listBytesMax = 2_000_000;

const tokenPaths: Readonly<Record<GitHostKind, string>> = {
  github: '/login/oauth/access_token',
  gitea: '/login/oauth/access_token',
  gitlab: '/oauth/token',
};

const tokenShape = z.object({ access_token: z.string().regex(/^[\x21-\x7e]{8,8192}$/) });

interface Asker {
  readonly nowMs: () => number;
  /** The secret of a host's app. */
  readonly secretOf: (host: SignInHost) => Promise<string>;
}

/** Asks hosts while somebody signs in. Nothing is retried, and no redirect is followed. All throw {@link GitHostUnavailableError}. */
export const createSignInHosts = (asker: Asker) => ({
  trade: (input: Trade) => trade(asker, input),
  identify: (of: HostToken) => identify(asker, of),
  accessTo: (of: HostToken & { names: readonly string[] }) => accessTo(asker, of),
  revoke: (of: HostToken) => revoke(asker, of),
});

export type SignInHosts = ReturnType<typeof createSignInHosts>;

const soon = () => AbortSignal.timeout(answerMs);

interface Trade {
  readonly host: SignInHost;
  readonly code: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

/** Trades a code for a token. @returns undefined: the host rejects it. */
async function trade(
  { secretOf }: Asker,
  { host, code, verifier, redirectUri }: Trade,
): Promise<string | undefined> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: host.signIn.clientId,
    client_secret: await secretOf(host),
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  const url = webUrlOf(host) + tokenPaths[host.kind];
  const got = await requestJson({ url, method: 'POST', headers: {}, body, signal: soon() });
  if (got.status >= 500) throw new GitHostUnavailableError(`A git host returned ${got.status} for a code.`);
  // GitHub tells an error in a 200.
  return tokenShape.safeParse(got.body).data?.access_token;
}

/** Who it is, and in which organizations: the first hundred. */
async function identify(
  { nowMs }: Asker,
  { host: { id, kind, url }, token }: HostToken,
): Promise<IdentifyOutcome> {
  const signal = soon();
  const headers = { ...apiHeaders[kind], authorization: `Bearer ${token}` };
  const [user, ...lists] = await Promise.all([
    getUser({ url, token, signal }, kind),
    ...listPaths[kind].map((path) =>
      requestJson({ url: url + apiPaths[kind] + path, headers, bytesMax: listBytesMax, signal }),
    ),
  ]);
  for (const got of [user, ...lists]) {
    const refusal = refusalOf(got, nowMs());
    if (refusal) return { kind: 'refused', reason: refusal.kind === 'limited' ? 'limited' : refusal.reason };
  }
  const organizations = memberships[kind](lists)
    .slice(0, userOrganizationsMax)
    .map((each) => ({ ...each, host: id }));
  const account = parsed(accountShapes[kind], user);
  return { kind: 'identified', hostUser: { id: `${id}:${account.id}`, login: account.login }, organizations };
}

/**
 * What they may do with repositories.
 *
 * @param of.names full names. @returns by name, with the repository's number. What can't be found out is absent.
 */
async function accessTo(
  { nowMs }: Asker,
  { host, token, names }: HostToken & { names: readonly string[] },
): Promise<ReadonlyMap<string, { readonly access: HostAccess; readonly linkedId: string }>> {
  const found = new Map<string, { access: HostAccess; linkedId: string }>();
  if (names.length === 0) return found;
  const asking = { url: host.url, token, signal: AbortSignal.timeout(accessMs) };
  const user = getUser(asking, host.kind);
  await mapLimited(names, atOnceMax, async (name) => {
    try {
      const findings = await askKind(host, { asking: { ...asking, user }, name, nowMs });
      if (findings.kind === 'found') found.set(name, findings);
    } catch (error) {
      if (!(error instanceof GitHostUnavailableError)) throw error;
    }
  });
  return found;
}

/** Ends the token. Gitea has no such request: there it ends within the hour. */
async function revoke({ secretOf }: Asker, { host, token }: HostToken): Promise<void> {
  const { kind, url, signIn } = host;
  if (kind === 'gitea') return;
  const { clientId } = signIn;
  const secret = await secretOf(host);
  const signal = soon();
  const got = await (kind === 'github'
    ? requestJson({
        url: `${url}/applications/${encodeURIComponent(clientId)}/token`,
        method: 'DELETE',
        headers: {
          ...apiHeaders.github,
          authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ access_token: token }),
        signal,
      })
    : requestJson({
        url: `${url}/oauth/revoke`,
        method: 'POST',
        headers: {},
        body: new URLSearchParams({ client_id: clientId, client_secret: secret, token }),
        signal,
      }));
  if (got.status !== 200 && got.status !== 204)
    throw new GitHostUnavailableError(`A git host returned ${got.status} for the end of a token.`);
}

/** Who has a token, by each API. */
const accountShapes: Readonly<Record<GitHostKind, z.ZodType<{ id: string; login: string }>>> = {
  github: accountShape,
  gitea: accountShape,
  gitlab: userShape.transform(({ id, username }) => ({ id, login: username })),
};

/** What tells the organizations of a user. GitLab's groups don't say the level, so it's asked for both. */
const listPaths: Readonly<Record<GitHostKind, readonly string[]>> = {
  github: ['/user/memberships/orgs?state=active&per_page=100'],
  gitea: ['/user/teams?limit=50', '/user/teams?limit=50&page=2'],
  // Groups come before those in them. Below Reporter nobody can pull.
  gitlab: [20, 50].map((level) => `/groups?min_access_level=${level}&per_page=100&order_by=id&sort=asc`),
};

type Memberships = readonly (Omit<HostOrganization, 'host'> & { readonly role: 'owner' | 'member' })[];

const membershipShape = z.object({
  role: z.string(),
  state: z.literal('active'),
  organization: z.object({ id: numberId, login }),
});
const groupShape = z.object({ id: numberId, full_path: login });
const teamShape = z.object({
  permission: z.string(),
  organization: z.object({ id: numberId, name: login }),
});

const memberships: Readonly<Record<GitHostKind, (lists: readonly Got[]) => Memberships>> = {
  github: (lists) =>
    listed(membershipShape, lists).map(({ role, organization: { id, login: name } }) => ({
      organizationId: id,
      name,
      role: role === 'admin' ? 'owner' : 'member',
    })),
  gitlab: ([members, owners]) => {
    const owned = new Set(listed(groupShape, owners ? [owners] : []).map(({ id }) => id));
    return listed(groupShape, members ? [members] : []).map(({ id, full_path: name }) => ({
      organizationId: id,
      name,
      role: owned.has(id) ? 'owner' : 'member',
    }));
  },
  gitea: (lists) => {
    const found = new Map<string, Memberships[number]>();
    for (const { permission, organization } of listed(teamShape, lists)) {
      const { id: organizationId, name } = organization;
      const isOwner = permission === 'owner' || found.get(organizationId)?.role === 'owner';
      found.set(organizationId, { organizationId, name, role: isOwner ? 'owner' : 'member' });
    }
    return [...found.values()];
  },
};

const listed = <T>(shape: z.ZodType<T>, lists: readonly Got[]): readonly T[] =>
  lists.flatMap((got) => parsed(z.array(shape), got));
