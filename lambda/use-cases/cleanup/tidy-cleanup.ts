import type { Deps } from '../../deps.ts';
import { type Cleanup, type Selection, tidiedCleanup } from '../../domain/cleanup/cleanup.ts';
import { candidatesKey, keepSetKey } from '../../domain/cleanup/cleanup-keys.ts';
import { deleteRunMs } from '../../domain/deletion.ts';
import { putCleanup } from './put-cleanup.ts';

function candidatesKeys(path: { tenant: string; watchId: string }, { folder, files }: Selection): string[] {
  return Array.from({ length: files }, (_, file) => candidatesKey(path, { folder, file }));
}

/**
 * Removes what a clean-up that has ended has left: its files, and then its watch. May be repeated. The files of runs before
 * the last are left to the store's lifecycle.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function tidyCleanup(
  deps: Pick<Deps, 'ledger' | 'store' | 'clock' | 'ids'>,
  { tenant, cleanup }: { tenant: string; cleanup: Cleanup },
): Promise<'done'> {
  const { ledger, store, clock } = deps;
  const { repo, watch, run, selecting, dueAtMs } = cleanup;
  const selection = cleanup.selection ?? selecting?.found;
  const path = { tenant, watchId: watch.id };
  if (dueAtMs !== null) {
    const keys = selection ? candidatesKeys(path, selection) : [];
    if (run) keys.push(keepSetKey(path, run.keepSha256));
    const deadlineMs = clock.nowMs() + deleteRunMs;
    for (const error of (await store.delete(keys, { deadlineMs })).values()) throw error;
    await putCleanup(deps, { tenant, cleanup: tidiedCleanup(cleanup), read: cleanup });
  }
  // Last: by it others find what is left to be done.
  await ledger.closeWatch({ tenant, repo, watch });
  return 'done';
}
