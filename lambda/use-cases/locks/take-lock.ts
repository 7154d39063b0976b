import type { TakeOutcome } from '../../adapters/dynamodb/locks.ts';
import type { Deps } from '../../deps.ts';
import { type FileLock, lockHashOf, lockIdRandomLength, lockOwnerOf } from '../../domain/lock.ts';
import type { Caller } from '../../domain/token.ts';

/** A repo can have locks before its first push. Made-up names must not fill the table: a tenant with so many needs a push first. */
export const locksBeforePushMax = 1000;

/**
 * Locks a path in somebody's name. Whoever asks for a lock that they have is told so as anybody else.
 *
 * @param input.path as `isLockPath` wants it.
 * @throws {LedgerUnavailableError}
 */
export async function takeLock(
  { locks, clock, ids }: Pick<Deps, 'locks' | 'clock' | 'ids'>,
  input: { tenant: string; repo: string; isRepoKnown: boolean; path: string; token: Caller },
): Promise<
  Exclude<TakeOutcome, { kind: 'taken' }> | { kind: 'taken'; lock: FileLock } | { kind: 'no-repo' }
> {
  const { tenant, repo, isRepoKnown, path, token } = input;
  if (!isRepoKnown && (await locks.hasAtLeast({ tenant, count: locksBeforePushMax })))
    return { kind: 'no-repo' };
  const lock: FileLock = {
    id: `${lockHashOf(path)}${ids.random(lockIdRandomLength)}`,
    path,
    ...lockOwnerOf(token),
    lockedAtMs: clock.nowMs(),
  };
  const outcome = await locks.take({ tenant, repo, lock });
  return outcome.kind === 'taken' ? { kind: 'taken', lock } : outcome;
}
