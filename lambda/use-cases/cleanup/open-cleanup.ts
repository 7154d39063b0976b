import type { Deps } from '../../deps.ts';
import { type Cleanup, isUnderWay, newCleanup } from '../../domain/cleanup/cleanup.ts';
import type { RepoPath } from '../../domain/tenant.ts';
import { repoPrefix } from '../../rules/names.ts';
import { hasKeys } from '../../store/rules/store.ts';
import { putCleanup } from './put-cleanup.ts';

export type OpenCleanupOutcome =
  /** It is under way: this one, or one that was opened before. */
  | { readonly kind: 'open'; readonly cleanup: Cleanup }
  /** There is no such repo, or it is being deleted. */
  | { readonly kind: 'no-repo' }
  /** One has ended just now, or is being ended. */
  | { readonly kind: 'busy' };

/**
 * Opens a repo's watch: from now on each upload batch notes which objects it names. A repo that has one keeps it.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function openCleanup(
  deps: Pick<Deps, 'ledger' | 'listing' | 'clock' | 'ids' | 'log' | 'settings'>,
  path: RepoPath,
): Promise<OpenCleanupOutcome> {
  const { ledger, clock, ids, settings } = deps;
  if (!(await isOpenRepo(deps, path))) return { kind: 'no-repo' };
  const openedAtMs = clock.nowMs();
  const opened = await ledger.openWatch({
    ...path,
    watch: {
      id: ids.random(16),
      openedAtMs,
      untilMs: openedAtMs + settings.cleanupLimitMs,
      hasPrefixes: true,
    },
    nowMs: openedAtMs,
  });
  if (opened.kind === 'refused') return { kind: 'busy' };
  const { watch } = opened;
  const before = await ledger.readCleanup(path);
  if (before?.watch.id === watch.id)
    // It has ended, and its watch is still to be closed.
    return isUnderWay(before) ? { kind: 'open', cleanup: before } : { kind: 'busy' };
  const cleanup = newCleanup({ repo: path.repo, watch });
  const put = await putCleanup(deps, { tenant: path.tenant, cleanup, read: before ?? null });
  if (!put) return { kind: 'busy' };
  deps.log.info('clean-up opened', { ...path, watchId: watch.id });
  return { kind: 'open', cleanup: put };
}

async function isOpenRepo(
  { ledger, listing }: Pick<Deps, 'ledger' | 'listing'>,
  path: RepoPath,
): Promise<boolean> {
  const record = await ledger.readRepo(path);
  if (record && record.closedAtMs !== null) return false;
  if (record?.watch || (record && record.objectCount > 0)) return true;
  return hasKeys(listing, repoPrefix(path));
}
