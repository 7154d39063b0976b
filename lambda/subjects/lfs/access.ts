import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import {
  isOfLfs,
  isThere,
  type RepoPath,
  type RepoRecord,
  reposMax,
  type TenantRecord,
} from '../../core/ledger/rules/tenant.ts';
import type { Watch } from '../../core/ledger/rules/watch.ts';
import type { Clock } from '../../core/rules/clock-and-log.ts';
import { sha256Hex } from '../../core/rules/hash.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { wrongKind } from '../../frame/access/rules/kinds.ts';
import { suspension } from '../../frame/access/rules/suspension.ts';
import { beyondPrefix, type Caller } from '../../frame/access/rules/tokens.ts';
import type { FrontPorts, LoginWay, Upstream } from '../../frame/access/seams.ts';
import { authenticateToken, noteTokenUse } from '../../frame/access/tokens.ts';
import { credential, header, pathRepo, pathTenant, type Response } from '../../frame/api/http.ts';
import { lfsError, lfsNotFound, lfsRetryLater, lfsUnauthorized } from './http.ts';
import { authenticationRequired, hostLimited, hostUnavailable, tokenInvalid } from './messages.ts';

type LfsAccess = Granted | Refused;

export interface Granted {
  readonly ok: true;
  readonly tenant: TenantRecord;
  readonly repo: string;
  /** How many objects the repo had when it was last counted. undefined: it never was. */
  readonly repoObjects: number | undefined;
  /** Whether there's a record of the repo: it was created, or pushed to. */
  readonly isRepoKnown: boolean;
  /** Whether it can't become one of files. */
  readonly isOfLfs: boolean;
  /** Whether the tenant takes pushes, and one may bring it into being, or it is there. */
  readonly takesPushes: boolean;
  /** Whether it is not known yet, and the tenant has as many repos as it may have. */
  readonly isOneTooMany: boolean;
  /** Whether a gc run is under way in the repo. */
  readonly watch: Watch | undefined;
  /** Of what is uploaded. null: the bucket's own. */
  readonly storageClass: string | null;
  readonly token: Caller;
  /** Where whoever asks can download what is missing here. undefined: nowhere. */
  readonly upstream?: Upstream | undefined;
}

interface Refused {
  readonly ok: false;
  readonly response: Response;
  /** Nobody tried to log in, or did as somebody else: what is public is for them too. */
  readonly isAnybody: boolean;
}

export type LfsAccessDeps = Pick<CoreDeps, 'ledger' | 'clock' | 'log'> &
  Pick<AccessPorts, 'tokens'> &
  Pick<FrontPorts, 'logins'> & { readonly rejectedLogins: RejectedLogins };

/** {@link lfsAccess} for one container, which remembers who was rejected. */
export function lfsLogin(deps: Omit<LfsAccessDeps, 'rejectedLogins'>) {
  const rejectedLogins = new RejectedLogins(deps.clock);
  return (event: APIGatewayProxyEventV2) => lfsAccess({ ...deps, rejectedLogins }, event);
}

/** See {@link lfsLogin}. */
export type LfsLogin = ReturnType<typeof lfsLogin>;

/** Who asks for which repo, or the answer that ends the request. */
export async function lfsAccess(deps: LfsAccessDeps, event: APIGatewayProxyEventV2): Promise<LfsAccess> {
  const { requestId } = event.requestContext;
  const [tenant, repo] = [pathTenant(event), pathRepo(event)];
  const presented = credential(event);
  const way = presented === undefined ? undefined : deps.logins.find(({ takes }) => takes(presented));
  if (way && presented !== undefined)
    return otherAccess(deps, event, { way, tenant: tenant ?? '', repo: repo ?? '', credential: presented });
  const notFound = { ok: false, response: lfsNotFound(requestId), isAnybody: true } as const;
  const access = await authenticateToken(deps, { tenant: tenant ?? '', repo, credential: presented });
  switch (access.kind) {
    case 'granted': {
      if (tenant === undefined || repo === undefined) return notFound;
      const message = beyondPrefix(access.token, 'others');
      if (message !== undefined)
        return { ok: false, response: lfsError({ statusCode: 403, message, requestId }), isAnybody: false };
      const [record, repoRecord] = await Promise.all([
        deps.ledger.readTenant(tenant),
        deps.ledger.readRepo({ tenant, repo }),
        noteTokenUse(deps, access.token),
      ]);
      // While it is being deleted, a tenant or repo is not there any more.
      const isClosed = record?.closedAtMs !== null || typeof repoRecord?.closedAtMs === 'number';
      return isClosed ? notFound : granted(requestId, access.token, { tenant: record, repo, repoRecord });
    }
    case 'unauthenticated':
      return unauthenticated(deps, event, presented);
    case 'not-found':
      return notFound;
  }
}

function granted(
  requestId: string,
  token: Caller,
  found: Pick<Granted, 'tenant' | 'repo' | 'upstream'> & { repoRecord: RepoRecord | undefined },
): LfsAccess {
  const { tenant, repo, repoRecord, upstream } = found;
  const refused = (statusCode: number, message: string) =>
    ({ ok: false, response: lfsError({ statusCode, message, requestId }), isAnybody: false }) as const;
  const suspended = suspension(tenant, 'all');
  if (suspended !== undefined) return refused(403, suspended);
  const wrong = wrongKind(repoRecord, { tenant: tenant.tenant, repo, needed: 'lfs' });
  if (wrong !== undefined) return refused(409, wrong);
  const repoObjects = repoRecord && repoRecord.epoch > 0 ? repoRecord.objectCount : undefined;
  const isCreatable = !tenant.reposMustExist || (repoRecord !== undefined && isThere(repoRecord));
  const takesPushes = isCreatable && tenant.suspended === null;
  const isRepoKnown = repoRecord !== undefined;
  const isOneTooMany = !isRepoKnown && tenant.repoCount >= reposMax;
  const { watch, storageClass = tenant.storageClass } = repoRecord ?? {};
  const uploads = { takesPushes, isOneTooMany, isOfLfs: isOfLfs(repoRecord), watch, storageClass };
  return { ok: true, tenant, repo, repoObjects, isRepoKnown, ...uploads, token, upstream };
}

function unauthenticated(
  deps: Pick<LfsAccessDeps, 'rejectedLogins' | 'logins'>,
  event: APIGatewayProxyEventV2,
  presented: string | undefined,
): Refused {
  const { requestId } = event.requestContext;
  const hosts = deps.logins.flatMap(({ names }) => names);
  const place = `${pathTenant(event) ?? 'TENANT'} ${pathRepo(event) ?? 'REPO'}`;
  const message = presented === undefined ? authenticationRequired(hosts) : tokenInvalid(hosts, place);
  // A 403 ends a client that would repeat a 401 for ever.
  const isRepeated = presented !== undefined && deps.rejectedLogins.isRepeated(presented);
  const response = isRepeated
    ? lfsError({ statusCode: 403, message, requestId })
    : lfsUnauthorized(requestId, message);
  // Whoever sends a wrong token has to learn that it is wrong.
  return { ok: false, response, isAnybody: header(event, 'authorization') === undefined };
}

/**
 * The same for what another way to log in takes, such as a user's token for a git host. The refusal has the same words, whatever
 * the reason. Its time shows that a host was asked, so that a repo is linked: to hide that, a function would have to wait, and
 * on Lambda a waiting request takes one of the account's concurrent executions.
 */
async function otherAccess(
  deps: LfsAccessDeps,
  event: APIGatewayProxyEventV2,
  { way, credential: presented, ...path }: RepoPath & { way: LoginWay; credential: string },
): Promise<LfsAccess> {
  const { requestId } = event.requestContext;
  const authorization = header(event, 'authorization') ?? '';
  const outcome = await way.login({ ...path, credential: presented, authorization });
  switch (outcome.kind) {
    case 'granted': {
      const { token, ...found } = outcome;
      return granted(requestId, token, { ...found, repo: path.repo });
    }
    case 'refused':
      return unauthenticated(deps, event, presented);
    case 'limited': {
      const seconds = Math.max(1, Math.ceil(outcome.retryAfterMs / 1000));
      const message = hostLimited(outcome.host, seconds);
      return { ok: false, response: lfsRetryLater({ seconds, message, requestId }), isAnybody: false };
    }
    case 'unavailable':
      return { ok: false, response: lfsHostUnavailable({ ...outcome, requestId }), isAnybody: false };
  }
}

const windowMs = 60_000;
/** A person who mistypes asks again with another token. A helper repeats the same one. */
const rejectionsMax = 3;
/** Credentials remembered. Beyond that the oldest are forgotten. */
const credentialsMax = 10_000;

/**
 * Remembers credentials that were rejected, in this container alone.
 *
 * git-lfs answers a 401 by asking its credential helper again. A helper that always returns the same bad token, as a
 * CI job's does, makes it repeat the request for ever, at a hundred a second and without a word. A 403 ends it with a
 * message.
 */
export class RejectedLogins {
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Hash of a credential → its rejections in a window, the oldest window first. */
  readonly #rejections = new Map<string, { sinceMs: number; count: number }>();

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** Notes a rejection. @returns whether the client repeats itself, so that another 401 would not help. */
  isRepeated(credential: string): boolean {
    const nowMs = this.#clock.nowMs();
    const key = sha256Hex(credential);
    const known = this.#rejections.get(key);
    const rejection = known && nowMs - known.sinceMs < windowMs ? known : { sinceMs: nowMs, count: 0 };
    rejection.count += 1;
    if (rejection !== known) {
      this.#rejections.delete(key);
      this.#rejections.set(key, rejection);
    }
    const [oldest] = this.#rejections.keys();
    if (this.#rejections.size > credentialsMax && oldest !== undefined) this.#rejections.delete(oldest);
    return rejection.count > rejectionsMax;
  }
}

/** 503: the git host doesn't respond, so it authenticates nobody. git-lfs ends with the message. */
function lfsHostUnavailable(input: { host: string; retryAfterMs: number; requestId: string }): Response {
  const { host, retryAfterMs, requestId } = input;
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  return lfsError({ statusCode: 503, message: hostUnavailable(host), requestId }, { 'retry-after': seconds });
}
