import { type FileLock, lockHashOf, lockIdRandomLength, lockOwnerOf } from '../../domain/lock.ts';
import type { Caller } from '../../ports/credentials.ts';
import type { TakeOutcome } from '../../ports/locks.ts';
import type { Deps } from '../deps.ts';

/**
 * Locks a path in somebody's name. Whoever asks for a lock that they have is told so as anybody else.
 *
 * @param input.path as `isLockPath` wants it.
 * @throws {LedgerUnavailableError}
 */
export async function takeLock(
  { locks, clock, ids }: Pick<Deps, 'locks' | 'clock' | 'ids'>,
  input: { tenant: string; repo: string; path: string; token: Caller },
): Promise<Exclude<TakeOutcome, { kind: 'taken' }> | { kind: 'taken'; lock: FileLock }> {
  const { tenant, repo, path, token } = input;
  const lock: FileLock = {
    id: `${lockHashOf(path)}${ids.random(lockIdRandomLength)}`,
    path,
    ...lockOwnerOf(token),
    lockedAtMs: clock.nowMs(),
  };
  const outcome = await locks.take({ tenant, repo, lock });
  return outcome.kind === 'taken' ? { kind: 'taken', lock } : outcome;
}
