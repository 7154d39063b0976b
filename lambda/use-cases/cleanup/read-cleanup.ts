import type { Deps } from '../../deps.ts';
import { type Cleanup, endedCleanup, isUnderWay } from '../../domain/cleanup/cleanup.ts';
import { isNoting } from '../../domain/cleanup/watch.ts';
import type { RepoPath } from '../../domain/tenant.ts';

/**
 * The clean-up of a repo, or the last one that it had.
 *
 * @returns undefined if it never had one, or its tenant is another of the same name by now.
 * @throws {LedgerUnavailableError}
 */
export async function readCleanup(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  path: RepoPath,
): Promise<Cleanup | undefined> {
  const cleanup = await ledger.readCleanup(path);
  if (!cleanup || !isUnderWay(cleanup)) return cleanup;
  const nowMs = clock.nowMs();
  // Nobody has looked since its time was over.
  return isNoting(cleanup.watch, nowMs) ? cleanup : endedCleanup(cleanup, { state: 'expired', nowMs });
}
