import { lockIdPattern, lockOwnerOf } from '../../domain/lock.ts';
import type { TokenRecord } from '../../ports/credentials.ts';
import type { ReleaseOutcome } from '../../ports/locks.ts';
import type { Deps } from '../deps.ts';

/**
 * Releases a lock in a token's name.
 *
 * @param input.lockId as the client sent it.
 * @param input.isForced also releases what somebody else has locked. The log says who did.
 * @throws {LedgerUnavailableError}
 */
export async function releaseLock(
  { locks, log }: Pick<Deps, 'locks' | 'log'>,
  input: { tenant: string; repo: string; lockId: string; isForced: boolean; token: TokenRecord },
): Promise<ReleaseOutcome> {
  const { tenant, repo, lockId, isForced, token } = input;
  if (!lockIdPattern.test(lockId)) return { kind: 'absent' };
  const { ownerId } = lockOwnerOf(token);
  const outcome = await locks.release({ tenant, repo, lockId, ...(!isForced && { ownerId }) });
  if (outcome.kind === 'released' && outcome.lock.ownerId !== ownerId)
    log.info('lock taken away', { tenant, repo, lockId, tokenId: token.tokenId });
  return outcome;
}
