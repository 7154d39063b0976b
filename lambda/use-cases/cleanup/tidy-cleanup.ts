import { type Cleanup, tidiedCleanup } from '../../domain/cleanup/cleanup.ts';
import { candidatesKey, keepSetKey } from '../../domain/cleanup/cleanup-keys.ts';
import { deleteRunMs } from '../../domain/deletion.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';

const deletesAtOnce = 16;

/**
 * Removes what a clean-up that has ended has left: its files, and then its watch. May be repeated. The files of runs before
 * the last are left to the store's lifecycle.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function tidyCleanup(
  { ledger, store, clock }: Pick<Deps, 'ledger' | 'store' | 'clock'>,
  { tenant, cleanup }: { tenant: string; cleanup: Cleanup },
): Promise<'done'> {
  const { repo, watch, run, selection, dueAtMs, version } = cleanup;
  const path = { tenant, watchId: watch.id };
  if (dueAtMs !== null) {
    const files = Array.from({ length: selection?.files ?? 0 }, (_, file) => file);
    const keys = files.map((file) => candidatesKey(path, { folder: selection?.folder ?? '', file }));
    if (run) keys.push(keepSetKey(path, run.keepSha256));
    const deadlineMs = clock.nowMs() + deleteRunMs;
    await mapLimited(keys, deletesAtOnce, (key) => store.delete(key, { deadlineMs }));
    await ledger.putCleanup({ tenant, cleanup: tidiedCleanup(cleanup), versionRead: version });
  }
  // Last: by it others find what is left to be done.
  await ledger.closeWatch({ tenant, repo, watch });
  return 'done';
}
