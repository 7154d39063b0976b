import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { plainText } from '../../core/rules/text.ts';
import { actorOf, audited } from '../../frame/access/audit.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { type Caller, mayPush } from '../../frame/access/rules/tokens.ts';
import { type Granted, type LfsAccessDeps, lfsLogin } from '../lfs/access.ts';
import { lfs } from '../lfs/http.ts';
import { readOnly } from '../lfs/messages.ts';
import { type LfsRequest, lfsOperations } from '../lfs/operations.ts';
import {
  type lfsLockContract,
  listLocksQuery,
  lockRequestSchema,
  unlockRequestSchema,
  verifyLocksRequestSchema,
  type WireLock,
} from './lfs-contract.ts';
import {
  invalidLock,
  lockedBy,
  lockNotFound,
  lockOfAnother,
  repoForLockMissing,
  tooManyLocks,
} from './lfs-messages.ts';
import type { ReleaseOutcome, TakeOutcome } from './lock-store.ts';
import type { LockPorts } from './ports.ts';
import {
  type FileLock,
  hashOfLockId,
  lockHashOf,
  lockIdPattern,
  lockIdRandomLength,
  lockOwnerOf,
  lockPageMax,
  lockPathOf,
  ownerOfLock,
} from './rules/locks.ts';

/** A repo can have locks before its first push. Made-up names must not fill the table: a tenant with so many needs a push first. */
export const locksBeforePushMax = 1000;

/**
 * Locks a path in somebody's name. Whoever asks for a lock that they have is told so as anybody else.
 *
 * @param input.path of the form `lockPathStart`.
 * @throws {LedgerUnavailableError}
 */
export async function takeLock(
  { locks, clock, ids }: Pick<CoreDeps, 'clock' | 'ids'> & LockPorts,
  input: { tenant: string; repo: string; isRepoKnown: boolean; path: string; token: Caller },
): Promise<
  Exclude<TakeOutcome, { kind: 'taken' }> | { kind: 'taken'; lock: FileLock } | { kind: 'no-repo' }
> {
  const { tenant, repo, isRepoKnown, token } = input;
  const path = lockPathOf(input.path);
  if (!isRepoKnown && (await locks.hasAtLeast({ tenant, count: locksBeforePushMax })))
    return { kind: 'no-repo' };
  // Older versions stored a path with its backslashes.
  const older = path === input.path ? undefined : await locks.findFile({ tenant, repo, path: input.path });
  if (older) return { kind: 'held', lock: older };
  const lock: FileLock = {
    id: `${lockHashOf(path)}${ids.random(lockIdRandomLength)}`,
    path,
    ...lockOwnerOf(token),
    lockedAtMs: clock.nowMs(),
  };
  const outcome = await locks.take({ tenant, repo, lock });
  return outcome.kind === 'taken' ? { kind: 'taken', lock } : outcome;
}

type ReleaseDeps = Pick<CoreDeps, 'clock' | 'log'> & Pick<AccessPorts, 'audit'> & LockPorts;

interface ReleaseInput {
  readonly tenant: string;
  readonly repo: string;
  /** As the client sent it. */
  readonly lockId: string;
  /** Also what somebody else has locked. Only that is audited: nobody fills the audit with locks of their own. */
  readonly isForced: boolean;
  readonly token: Caller;
  readonly requestId: string;
}

/** Releases a lock in somebody's name. @throws {LedgerUnavailableError} */
export async function releaseLock(deps: ReleaseDeps, input: ReleaseInput): Promise<ReleaseOutcome> {
  const { tenant, repo, lockId, isForced, token } = input;
  if (!lockIdPattern.test(lockId)) return { kind: 'absent' };
  const outcome = await deps.locks.release({ tenant, repo, lockId, ownerId: lockOwnerOf(token).ownerId });
  return isForced && outcome.kind === 'of-another' ? releaseByForce(deps, input) : outcome;
}

function releaseByForce(deps: ReleaseDeps, input: ReleaseInput): Promise<ReleaseOutcome> {
  const { tenant, repo, lockId, token, requestId } = input;
  return audited(deps, {
    action: { tenant, requestId, by: actorOf(token), action: 'lock.force', target: { repo, lockId } },
    run: async (trail) => {
      const outcome = await deps.locks.release({ tenant, repo, lockId });
      if (outcome.kind !== 'released') return outcome;
      const { lock } = outcome;
      trail.was({ path: lock.path, owner: ownerOfLock(lock), ownerName: lock.ownerName });
      deps.log.info('lock removed by force', { tenant, repo, lockId, tokenId: token.tokenId });
      return outcome;
    },
    verdictOf: ({ kind }) =>
      kind === 'released' ? { outcome: 'succeeded' } : { outcome: 'denied', reason: 'lock-not-found' },
  });
}

export type LockDeps = Omit<LfsAccessDeps, 'rejectedLogins'> &
  Pick<CoreDeps, 'ids' | 'settings'> &
  Pick<AccessPorts, 'audit'> &
  LockPorts &
  FunctionPorts;

/** A lock as clients read it: its time in whole seconds. */
const lockBody = ({ id, path, ownerName, lockedAtMs }: FileLock): WireLock => ({
  id,
  path,
  locked_at: new Date(lockedAtMs).toISOString().replace(/\.\d{3}Z$/, 'Z'),
  owner: { name: plainText(ownerName) },
});

const takes = { wrong: invalidLock, mayBeEmpty: true } as const;

const placeOf = ({ tenant: { tenant }, repo }: Granted): RepoPath => ({ tenant, repo });

/** Refuses a token that may change nothing. */
const unlessReadOnly =
  (verb: string) =>
  (_: LockDeps, { token, repo, refuse }: LfsRequest & Granted) =>
    mayPush(token, repo) ? undefined : refuse(403, readOnly(token.hostUser, verb));

/** The File Locking API. */
export const lfsLocks = lfsOperations<typeof lfsLockContract, LockDeps, Granted>(lfsLogin, {
  'POST /{tenant}/{repo}/info/lfs/locks': {
    takes: { ...takes, schema: lockRequestSchema },
    refusal: unlessReadOnly('lock'),
    async run(deps, { asked: { path }, requestId, refuse, ...access }) {
      const { isRepoKnown, token } = access;
      const place = placeOf(access);
      const outcome = await takeLock(deps, { ...place, isRepoKnown, path, token });
      switch (outcome.kind) {
        case 'taken':
          return lfs(201, { lock: lockBody(outcome.lock) });
        case 'held': {
          const { lock } = outcome;
          return lfs(409, { lock: lockBody(lock), message: lockedBy(lock), request_id: requestId });
        }
        case 'no-repo':
          return refuse(403, repoForLockMissing(place.tenant, place.repo));
        case 'full':
          return refuse(403, tooManyLocks);
      }
    },
  },

  'GET /{tenant}/{repo}/info/lfs/locks': {
    takes: { ...takes, schema: listLocksQuery },
    async run({ locks }, { asked: { path, id, ...paging }, ...access }) {
      const place = placeOf(access);
      if (path === undefined && id === undefined) {
        const { locks: found, ...next } = await pageOf(locks, place, paging);
        return lfs(200, { locks: found.map(lockBody), ...next });
      }
      const lock = await findOne(locks, place, { path, id });
      return lfs(200, { locks: lock ? [lockBody(lock)] : [] });
    },
  },

  'POST /{tenant}/{repo}/info/lfs/locks/verify': {
    takes: { ...takes, schema: verifyLocksRequestSchema },
    isNever404: true,
    async run({ locks }, { asked, ...access }) {
      const { locks: found, ...next } = await pageOf(locks, placeOf(access), asked);
      const { ownerId } = lockOwnerOf(access.token);
      const ours = found.filter((lock) => lock.ownerId === ownerId);
      const theirs = found.filter((lock) => lock.ownerId !== ownerId);
      return lfs(200, { ours: ours.map(lockBody), theirs: theirs.map(lockBody), ...next });
    },
  },

  'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock': {
    takes: { ...takes, schema: unlockRequestSchema },
    refusal: unlessReadOnly('unlock'),
    async run(deps, { asked: { force = false }, event, requestId, refuse, ...access }) {
      const { token } = access;
      const lockId = event.pathParameters?.['lockId'] ?? '';
      const release = { ...placeOf(access), lockId, isForced: force, token, requestId };
      const outcome = await releaseLock(deps, release);
      switch (outcome.kind) {
        case 'released':
          return lfs(200, { lock: lockBody(outcome.lock) });
        case 'of-another':
          return refuse(403, lockOfAnother(outcome.lock));
        case 'absent':
          return refuse(404, lockNotFound);
      }
    },
  },
});

/** A page of what the client asks for, as far as that is possible: a limit of 0 stands for no wish. */
async function pageOf(
  locks: LockPorts['locks'],
  place: RepoPath,
  { cursor, limit }: { cursor?: string | undefined; limit?: number | undefined },
) {
  const pageSize = Math.min(limit || lockPageMax, lockPageMax);
  const after = cursor !== undefined && { after: cursor };
  const { locks: found, next } = await locks.listPage({ ...place, pageSize, ...after });
  return { locks: found, ...(next !== null && { next_cursor: next }) };
}

/** The lock of a path, or with an id, or both. */
async function findOne(
  locks: LockPorts['locks'],
  place: RepoPath,
  { path, id }: { path: string | undefined; id: string | undefined },
): Promise<FileLock | undefined> {
  if (id === undefined) return locks.findFile({ ...place, path: path ?? '' });
  if (!lockIdPattern.test(id)) return undefined;
  const lock = await locks.find({ ...place, hash: hashOfLockId(id) });
  const isOfPath = path === undefined || lockPathOf(lock?.path ?? '') === lockPathOf(path);
  return lock?.id === id && isOfPath ? lock : undefined;
}
