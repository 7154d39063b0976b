import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { isGone, type TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { AccessPorts } from '../access/ports.ts';
import { suspension } from '../access/rules/suspension.ts';
import {
  beyondPrefix,
  isForRepo,
  mayCollect,
  mayPush,
  type SessionRecord,
  type TokenRecord,
} from '../access/rules/tokens.ts';
import {
  authenticateToken,
  findSession,
  findToken,
  grantFor,
  type HeldSession,
  type Holder,
  isAdmin,
  noteTokenUse,
} from '../access/tokens.ts';
import { credential, header, pathRepo, pathTenant, type Refusal } from '../api/http.ts';
import { problem, repoNotFound, tenantNotFound, unauthorized } from '../api/problems.ts';

export type Access<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly response: Refusal };

type AdminDeps = Pick<CoreDeps, 'clock'> & Pick<AccessPorts, 'admin' | 'tokens'>;
type HolderDeps = AdminDeps & Pick<CoreDeps, 'ledger'>;

/** Lets the operator pass. A tenant's token is not looked up here. */
export async function adminAccess(deps: AdminDeps, event: APIGatewayProxyEventV2): Promise<Access<object>> {
  return (await isOperator(deps, event)) ? { ok: true } : { ok: false, response: unauthorized('the admin') };
}

/** Lets the operator pass for a tenant that exists. One that is being deleted exists until nothing of it is left. */
export async function adminTenantAccess(
  deps: AdminDeps & Pick<CoreDeps, 'ledger'>,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ tenant: TenantRecord }>> {
  if (!(await isOperator(deps, event))) return { ok: false, response: unauthorized('the admin') };
  const name = pathTenant(event);
  const tenant = name === undefined ? undefined : await deps.ledger.readTenant(name);
  return tenant && !isGone(tenant) ? { ok: true, tenant } : { ok: false, response: tenantNotFound() };
}

async function isOperator(deps: AdminDeps, event: APIGatewayProxyEventV2): Promise<boolean> {
  const presented = presentedBy(event);
  if (presented?.kind !== 'session') return isAdmin(deps, presented?.secret);
  const session = await findSession(deps, presented.secret);
  return session !== undefined && session.token === undefined;
}

/** Lets whoever holds a valid token pass, whatever it is for. A session is none: it cannot make another one. */
export async function holderAccess(deps: HolderDeps, event: APIGatewayProxyEventV2): Promise<Access<Holder>> {
  const presented = presentedBy(event);
  if (presented?.kind !== 'token') return { ok: false, response: unauthorized() };
  if (await isAdmin(deps, presented.secret)) return { ok: true, token: undefined };
  const token = await findToken(deps, presented.secret);
  if (!token) return { ok: false, response: unauthorized() };
  const tenant = await deps.ledger.readTenant(token.tenant);
  const response = tenant && suspendedAnswer(tenant, 'all');
  return response ? { ok: false, response } : { ok: true, token };
}

/** Lets a session pass, and nothing else. */
export async function sessionAccess(
  deps: AdminDeps,
  event: APIGatewayProxyEventV2,
): Promise<Access<HeldSession>> {
  const presented = presentedBy(event);
  const held = presented?.kind === 'session' ? await findSession(deps, presented.secret) : undefined;
  if (held) return { ok: true, ...held };
  const ended = () => problem('session-ended', 'Your session or its token expired or was revoked.');
  return { ok: false, response: presented?.kind === 'session' ? ended() : unauthorized() };
}

/** Lets whoever holds a valid token or a session pass, whatever it is for. */
export async function anyAccess(
  deps: HolderDeps,
  event: APIGatewayProxyEventV2,
): Promise<Access<Holder & Partial<HeldSession>>> {
  return presentedBy(event)?.kind === 'session' ? sessionAccess(deps, event) : holderAccess(deps, event);
}

/** Who asks: the operator, or somebody with a token of the tenant. */
export interface Reader {
  readonly isAdmin: boolean;
  /** undefined: the operator. */
  readonly token: TokenRecord | undefined;
  /** undefined: a token is presented. */
  readonly session?: SessionRecord | undefined;
}

type ReaderDeps = Pick<CoreDeps, 'ledger' | 'clock' | 'log'> & Pick<AccessPorts, 'admin' | 'tokens'>;

/** Lets the operator, and any token of this tenant, pass. Nothing of the tenant is read before that is decided. */
export async function readerAccess(
  deps: ReaderDeps,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ tenant: TenantRecord } & Reader>> {
  const reader = await authenticateReader(deps, event);
  if (!reader.ok) return reader;
  const [tenant] = await Promise.all([deps.ledger.readTenant(reader.name), noteUse(deps, reader)]);
  return readableTenant(tenant, reader);
}

/** Lets the operator, and the tokens that manage this tenant, pass. */
export async function managerAccess(
  deps: ReaderDeps,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ tenant: TenantRecord } & Reader>> {
  return ifManager(await readerAccess(deps, event));
}

/** Lets the operator, and the tokens that may do something with the repo of the path, pass. @param scope the least. */
const repoAccess =
  (may: (token: TokenRecord, repo: string) => boolean, scope: string) =>
  async (
    deps: ReaderDeps,
    event: APIGatewayProxyEventV2,
  ): Promise<Access<{ tenant: TenantRecord } & Reader>> => {
    const access = await readerAccess(deps, event);
    if (!access.ok || !access.token) return access;
    const repo = pathRepo(event);
    const { tenant } = access.tenant;
    if (repo === undefined || !isForRepo(access.token, repo))
      return { ok: false, response: repoNotFound(tenant) };
    const detail = `This requires a token with the ${scope} or manage scope for ${tenant}/${repo}.`;
    return may(access.token, repo) ? access : { ok: false, response: problem('scope-too-small', detail) };
  };

/** Those that can push to it. */
export const writerAccess = repoAccess(mayPush, 'write');
/** Those that may collect its garbage. */
export const collectorAccess = repoAccess(mayCollect, 'gc');

/** Whether they administer the tenant, and so may know of its other tokens. */
export function isManager({ isAdmin, token }: Reader): boolean {
  return isAdmin || token?.scope === 'manage';
}

function ifManager<T extends { tenant: TenantRecord } & Reader>(access: Access<T>): Access<T> {
  if (!access.ok || isManager(access)) return access;
  const detail = `This requires the admin token, or a token of ${access.tenant.tenant} with the manage scope.`;
  return { ok: false, response: problem('scope-too-small', detail) };
}

/** The same for a tenant of which the operator may still read when nothing is left of it. */
export async function auditAccess(
  deps: ReaderDeps,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ name: string; isKnown: boolean }>> {
  const reader = await authenticateReader(deps, event);
  if (!reader.ok) return reader;
  const { name } = reader;
  const [tenant] = await Promise.all([deps.ledger.readTenant(name), noteUse(deps, reader)]);
  if (reader.isAdmin) return { ok: true, name, isKnown: tenant !== undefined };
  const access = ifManager(readableTenant(tenant, reader));
  return access.ok ? { ok: true, name, isKnown: true } : access;
}

/**
 * The repos that a list is of, or why there is none.
 *
 * @param repo the one that is asked for, if one is.
 * @returns repos null: all of the tenant.
 */
export function listedRepos(
  reader: Pick<Reader, 'token'>,
  repo: string | undefined,
): { readonly repos: readonly string[] | null } | { readonly refusal: Refusal } {
  if (repo === undefined) return { repos: reader.token?.repos ?? null };
  const refusal = refuseBeyondRepos(reader, repo);
  return refusal ? { refusal } : { repos: [repo] };
}

/** Whether this reader may know of a repo. A token for some repos sees nothing of the others. */
export function seesRepo({ token }: Pick<Reader, 'token'>, repo: string): boolean {
  return token === undefined || isForRepo(token, repo);
}

/** The repo of the path, if it can be one and this reader may know of it. */
export function seenRepo(reader: Pick<Reader, 'token'>, event: APIGatewayProxyEventV2): string | undefined {
  const repo = pathRepo(event);
  return repo !== undefined && seesRepo(reader, repo) ? repo : undefined;
}

/**
 * The answer to a reader who asks for something of all repos, or of one that is not theirs. undefined: they may.
 *
 * @param repo undefined: all of the tenant.
 */
export function refuseBeyondRepos(
  reader: Pick<Reader, 'token'>,
  repo: string | undefined,
): Refusal | undefined {
  if (!reader.token?.repos) return undefined;
  if (repo === undefined)
    return problem(
      'repo-required',
      `This token is for ${reader.token.repos.join(', ')}. Add one of them to the request.`,
    );
  return seesRepo(reader, repo) ? undefined : repoNotFound(reader.token.tenant);
}

/** The answer to a token that is only for some files, and asked for more: {@link beyondPrefix}. undefined: it may. */
export function refuseBeyondPrefix(
  { token }: Partial<Pick<Reader, 'token'>>,
  names: Parameters<typeof beyondPrefix>[1],
): Refusal | undefined {
  const detail = token && beyondPrefix(token, names);
  return detail === undefined ? undefined : problem('beyond-prefix', detail);
}

/** Who may read a tenant, by their credentials alone. */
export async function authenticateReader(
  deps: Pick<CoreDeps, 'clock'> & Pick<AccessPorts, 'admin' | 'tokens'>,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ name: string } & Reader>> {
  const presented = presentedBy(event);
  const name = pathTenant(event);
  const notFound = { ok: false, response: tenantNotFound() } as const;
  const asOperator = () =>
    name === undefined ? notFound : ({ ok: true, name, isAdmin: true, token: undefined } as const);
  const held = presented?.kind === 'session' ? await findSession(deps, presented.secret) : undefined;
  if (presented?.kind === 'session' && !held) return { ok: false, response: unauthorized() };
  if (held ? held.token === undefined : await isAdmin(deps, presented?.secret)) return asOperator();
  const access = held?.token
    ? grantFor(held.token, { tenant: name ?? '' })
    : await authenticateToken(deps, { tenant: name ?? '', credential: presented?.secret });
  switch (access.kind) {
    case 'granted':
      return name === undefined
        ? notFound
        : { ok: true, name, isAdmin: false, token: access.token, session: held?.session };
    case 'unauthenticated':
      return { ok: false, response: unauthorized() };
    case 'not-found':
      return notFound;
  }
}

/** Notes that a reader's token was used. The operator has none. */
export async function noteUse(
  deps: Pick<CoreDeps, 'clock' | 'log'> & Pick<AccessPorts, 'tokens'>,
  { token }: Pick<Reader, 'token'>,
): Promise<void> {
  if (token) await noteTokenUse(deps, token);
}

/** The tenant, if it is there for this reader: the operator sees one that is being deleted until nothing is left. */
export function readableTenant(
  tenant: TenantRecord | undefined,
  { isAdmin, token, session }: Reader,
): Access<{ tenant: TenantRecord } & Reader> {
  const isThere = tenant && (isAdmin ? !isGone(tenant) : tenant.closedAtMs === null);
  if (!isThere) return { ok: false, response: tenantNotFound() };
  const response = isAdmin ? undefined : suspendedAnswer(tenant, 'all');
  return response ? { ok: false, response } : { ok: true, tenant, isAdmin, token, session };
}

/** The answer while a tenant is suspended for this use. undefined: it isn't. */
export function suspendedAnswer(...asked: Parameters<typeof suspension>): Refusal | undefined {
  const message = suspension(...asked);
  return message === undefined ? undefined : problem('tenant-suspended', message);
}

/** What a request shows to be let in. */
interface Presented {
  readonly kind: 'token' | 'session';
  readonly secret: string;
}

/** The console sends it with each request. A page of another origin cannot, without a preflight that is refused. */
const consoleHeader = 'lfs-quota-console';

/**
 * The token of a request, or the session of the console.
 *
 * Browsers send a cookie also for pages of others: those on another port of the same machine are of the same site. So it
 * counts only with a header that such a page cannot send, and where the browser says that the page is our own.
 */
export function presentedBy(event: APIGatewayProxyEventV2): Presented | undefined {
  if (header(event, 'authorization') !== undefined) {
    const secret = credential(event);
    return secret === undefined ? undefined : { kind: 'token', secret };
  }
  if (!isFromConsole(event)) return undefined;
  const secret = cookieOf(event, '');
  return secret === undefined ? undefined : { kind: 'session', secret };
}

/** Whether the console's page sends it. */
export function isFromConsole(event: APIGatewayProxyEventV2): boolean {
  const site = header(event, 'sec-fetch-site');
  return header(event, consoleHeader) === '1' && (site === undefined || site === 'same-origin');
}

/** What a cookie is for: a session, or to sign in by a git host. */
type CookieUse = '' | '-login';

/**
 * The name of a cookie. By its prefix, browsers take it over TLS alone, for this host and no other.
 *
 * `npm start` serves plain HTTP on loopback, where not every browser keeps such a cookie. There it has a name with the
 * port in it: a browser does not tell the ports of a host apart, and a second stack would overwrite the first one's.
 */
function cookieName(event: APIGatewayProxyEventV2, use: CookieUse): { name: string; isSecure: boolean } {
  const [, port] = /^(?:127\.[\d.]+|localhost|\[::1\]):(\d+)$/i.exec(event.requestContext.domainName) ?? [];
  const isPlain = header(event, 'x-forwarded-proto') === 'http' && port !== undefined;
  return isPlain
    ? { name: `lfsq${use}-${port}`, isSecure: false }
    : { name: `__Host-lfsq${use}`, isSecure: true };
}

/** What a cookie of a request holds. undefined: it has none, or more than one. */
export function cookieOf(event: APIGatewayProxyEventV2, use: CookieUse): string | undefined {
  const begin = `${cookieName(event, use).name}=`;
  // API Gateway takes them out of the headers; what stands in for it may not.
  const all = event.cookies ?? header(event, 'cookie')?.split(/; */) ?? [];
  const found = all.filter((cookie) => cookie.startsWith(begin));
  return found.length === 1 ? found[0]?.slice(begin.length) : undefined;
}

/** @param cookie one without a value is removed. */
export function setCookie(
  event: APIGatewayProxyEventV2,
  cookie: { readonly value: string; readonly maxAgeMs: number; readonly use?: CookieUse },
): string {
  const { name, isSecure } = cookieName(event, cookie.use ?? '');
  const seconds = Math.max(0, Math.floor(cookie.maxAgeMs / 1000));
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${cookie.value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Strict${secure}`;
}
