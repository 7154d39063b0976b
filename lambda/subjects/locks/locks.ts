import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { actorOf, audited } from '../../frame/access/audit.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import type { Caller } from '../../frame/access/rules/tokens.ts';
import type { ReleaseOutcome, TakeOutcome } from './lock-store.ts';
import type { LockPorts } from './ports.ts';
import {
  type FileLock,
  lockHashOf,
  lockIdPattern,
  lockIdRandomLength,
  lockOwnerOf,
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
