import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import type { AccessPorts } from '../../access/ports.ts';
import { mayPush } from '../../access/rules/tokens.ts';
import type { CoreDeps } from '../../ledger/core-deps.ts';
import { releaseLock, takeLock } from '../../locks/locks.ts';
import type { LockPorts } from '../../locks/ports.ts';
import {
  type FileLock,
  hashOfLockId,
  lockIdPattern,
  lockOwnerOf,
  lockPageMax,
  lockPathOf,
} from '../../locks/rules/locks.ts';
import type { RouteKey } from '../../routes.ts';
import type { FunctionPorts } from '../../rules/clock-and-log.ts';
import { parseJson, plainText } from '../../rules/text.ts';
import { firstIssue } from '../contract/json.ts';
import {
  listLocksQuery,
  lockRequestSchema,
  unlockRequestSchema,
  verifyLocksRequestSchema,
  type WireLock,
} from '../contract/lfs-locks.ts';
import type { Response } from '../http.ts';
import type { LfsAccess, LfsAccessDeps } from './access.ts';
import { lfs, lfsBody, lfsError, lfsNotAccepted } from './http.ts';
import {
  invalid,
  lockedBy,
  lockNotFound,
  lockOfAnother,
  readOnly,
  repoForLockMissing,
  tooManyLocks,
} from './messages.ts';

/** A lock as clients read it: its time in whole seconds. */
function lockBody({ id, path, ownerName, lockedAtMs }: FileLock): WireLock {
  const lockedAt = new Date(lockedAtMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
  return { id, path, locked_at: lockedAt, owner: { name: plainText(ownerName) } };
}

/** The cursor of the next page, as it stands in an answer. */
const nextCursorOf = (next: string | null) => (next === null ? {} : { next_cursor: next });

/** Locks on a page: what the client asks for, as far as that is possible. 0 stands for no wish. */
function pageSizeOf(limit: number | undefined): number {
  return limit ? Math.min(limit, lockPageMax) : lockPageMax;
}

export type LockDeps = Omit<LfsAccessDeps, 'rejectedLogins'> &
  Pick<CoreDeps, 'ids'> &
  Pick<AccessPorts, 'audit'> &
  LockPorts &
  FunctionPorts;

/** What is known of a request once access is granted. */
interface LockRequest {
  readonly access: Extract<LfsAccess, { ok: true }>;
  readonly event: APIGatewayProxyEventV2;
}

type LockOperation = (deps: LockDeps, request: LockRequest) => Promise<Response>;

const takeOne: LockOperation = async (deps, { access, event }) => {
  const readOnly = ifReadOnly({ access, event }, 'lock');
  if (readOnly) return readOnly;
  const body = decodeBody(deps, event, lockRequestSchema);
  if (!body.ok) return body.response;
  const { requestId } = event.requestContext;
  const place = placeOf(access);
  const outcome = await takeLock(deps, {
    ...place,
    isRepoKnown: access.isRepoKnown,
    path: body.value.path,
    token: access.token,
  });
  switch (outcome.kind) {
    case 'taken':
      return lfs(201, { lock: lockBody(outcome.lock) });
    case 'held':
      return lfs(409, {
        lock: lockBody(outcome.lock),
        message: lockedBy(outcome.lock),
        request_id: requestId,
      });
    case 'no-repo': {
      const message = repoForLockMissing(place.tenant, place.repo);
      return lfsError({ statusCode: 403, message, requestId });
    }
    case 'full':
      return lfsError({ statusCode: 403, message: tooManyLocks, requestId });
  }
};

const list: LockOperation = async ({ locks }, { access, event }) => {
  const notAccepted = lfsNotAccepted(event);
  if (notAccepted) return notAccepted;
  const query = listLocksQuery.safeParse(event.queryStringParameters ?? {});
  if (!query.success) return malformed(event, query.error);
  const { path, id, cursor, limit } = query.data;
  const place = placeOf(access);
  if (path === undefined && id === undefined) {
    const page = { pageSize: pageSizeOf(limit), ...(cursor !== undefined && { after: cursor }) };
    const { locks: found, next } = await locks.listPage({ ...place, ...page });
    return lfs(200, { locks: found.map(lockBody), ...nextCursorOf(next) });
  }
  const lock = await findOne(locks, place, { path, id });
  return lfs(200, { locks: lock ? [lockBody(lock)] : [] });
};

/** The lock of a path, or with an id, or both. */
async function findOne(
  locks: LockPorts['locks'],
  place: { tenant: string; repo: string },
  { path, id }: { path: string | undefined; id: string | undefined },
): Promise<FileLock | undefined> {
  if (id === undefined) return locks.findFile({ ...place, path: path ?? '' });
  if (!lockIdPattern.test(id)) return undefined;
  const lock = await locks.find({ ...place, hash: hashOfLockId(id) });
  const isOfPath = path === undefined || lockPathOf(lock?.path ?? '') === lockPathOf(path);
  return lock?.id === id && isOfPath ? lock : undefined;
}

const verify: LockOperation = async (deps, { access, event }) => {
  const body = decodeBody(deps, event, verifyLocksRequestSchema);
  if (!body.ok) return body.response;
  const { cursor, limit } = body.value;
  const page = { pageSize: pageSizeOf(limit), ...(cursor !== undefined && { after: cursor }) };
  const { locks, next } = await deps.locks.listPage({ ...placeOf(access), ...page });
  const { ownerId } = lockOwnerOf(access.token);
  return lfs(200, {
    ours: locks.filter((lock) => lock.ownerId === ownerId).map(lockBody),
    theirs: locks.filter((lock) => lock.ownerId !== ownerId).map(lockBody),
    ...nextCursorOf(next),
  });
};

const release: LockOperation = async (deps, { access, event }) => {
  const readOnly = ifReadOnly({ access, event }, 'unlock');
  if (readOnly) return readOnly;
  const body = decodeBody(deps, event, unlockRequestSchema);
  if (!body.ok) return body.response;
  const { requestId } = event.requestContext;
  const outcome = await releaseLock(deps, {
    ...placeOf(access),
    lockId: event.pathParameters?.['lockId'] ?? '',
    isForced: body.value.force ?? false,
    token: access.token,
    requestId,
  });
  switch (outcome.kind) {
    case 'released':
      return lfs(200, { lock: lockBody(outcome.lock) });
    case 'of-another':
      return lfsError({ statusCode: 403, message: lockOfAnother(outcome.lock), requestId });
    case 'absent':
      return lfsError({ statusCode: 404, message: lockNotFound, requestId });
  }
};

const placeOf = ({ tenant: { tenant }, repo }: LockRequest['access']) => ({ tenant, repo });

/** The answer to a token that may change nothing. undefined: it may. */
function ifReadOnly({ access, event }: LockRequest, verb: string): Response | undefined {
  if (mayPush(access.token, access.repo)) return undefined;
  const message = readOnly(access.token.hostUser, verb);
  return lfsError({ statusCode: 403, message, requestId: event.requestContext.requestId });
}

function decodeBody<T>(
  { settings }: Pick<CoreDeps, 'settings'>,
  event: APIGatewayProxyEventV2,
  schema: z.ZodType<T>,
): { ok: true; value: T } | { ok: false; response: Response } {
  const body = lfsBody(settings, event);
  if (!body.ok) return body;
  const value = body.body.trim() === '' ? {} : parseJson(body.body);
  if (value === undefined) {
    const { requestId } = event.requestContext;
    return { ok: false, response: lfsError({ statusCode: 400, message: invalid.json, requestId }) };
  }
  const parsed = schema.safeParse(value);
  return parsed.success
    ? { ok: true, value: parsed.data }
    : { ok: false, response: malformed(event, parsed.error) };
}

function malformed(event: APIGatewayProxyEventV2, error: z.ZodError): Response {
  const message = invalid.lock(firstIssue(error));
  return lfsError({ statusCode: 422, message, requestId: event.requestContext.requestId });
}

/** The File Locking API, by its routes. */
export const lockOperations: Readonly<Record<RouteKey<'lfsLocks'>, LockOperation>> = {
  'POST /{tenant}/{repo}/info/lfs/locks': takeOne,
  'GET /{tenant}/{repo}/info/lfs/locks': list,
  'POST /{tenant}/{repo}/info/lfs/locks/verify': verify,
  'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock': release,
};
