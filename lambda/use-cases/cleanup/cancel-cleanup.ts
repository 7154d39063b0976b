import type { Deps } from '../../deps.ts';
import { type Cleanup, endedCleanup, isUnderWay } from '../../domain/cleanup/cleanup.ts';
import type { RepoPath } from '../../domain/tenant.ts';
import { putCleanup } from './put-cleanup.ts';

/** Others write the record at most once for each thousand objects. */
const attemptsMax = 20;

/**
 * Ends a clean-up. What it has not deleted stays, but for up to 1,000 objects that are being deleted right now. One that
 * has ended is left as it is.
 *
 * @returns the clean-up as it is now. undefined: there is none. `busy`: others write it all the time.
 * @throws {LedgerUnavailableError} @throws when the queue did not accept what is left to do. The schedule makes up for that.
 */
export async function cancelCleanup(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'ids' | 'log'>,
  path: RepoPath,
): Promise<Cleanup | 'busy' | undefined> {
  const { ledger, clock } = deps;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const cleanup = await ledger.readCleanup(path);
    if (!cleanup || !isUnderWay(cleanup)) return cleanup;
    const ended = await putCleanup(deps, {
      tenant: path.tenant,
      cleanup: endedCleanup(cleanup, { state: 'cancelled', nowMs: clock.nowMs() }),
      read: cleanup,
    });
    if (!ended) continue;
    deps.log.info('clean-up cancelled', { ...path, watchId: ended.watch.id });
    // Its files are still to be removed, and its watch is to be closed.
    await deps.queue.request({ tenant: path.tenant, reason: 'delete', full: false });
    return ended;
  }
  return 'busy';
}
