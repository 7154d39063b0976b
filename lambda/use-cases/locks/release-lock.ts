import type { ReleaseOutcome } from '../../adapters/dynamodb/locks.ts';
import type { Deps } from '../../deps.ts';
import { lockIdPattern, lockOwnerOf, ownerOfLock } from '../../domain/lock.ts';
import type { Caller } from '../../domain/token.ts';
import { actorOf, audited } from '../audited.ts';

type ReleaseDeps = Pick<Deps, 'locks' | 'audit' | 'clock' | 'log'>;

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
      deps.log.info('lock taken away', { tenant, repo, lockId, tokenId: token.tokenId });
      return outcome;
    },
    verdictOf: ({ kind }) =>
      kind === 'released' ? { outcome: 'done' } : { outcome: 'refused', reason: 'lock-not-found' },
  });
}
