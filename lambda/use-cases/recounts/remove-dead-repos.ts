import type { Deps } from '../../deps.ts';
import { isDisposable, type RepoRecord, type TenantRecord } from '../../domain/tenant.ts';
import { mapLimited } from '../../rules/async.ts';
import type { LedgerSnapshot } from './read-snapshot.ts';

/** Items that one reconcile removes, at most. */
const removedMax = 5000;
const removesAtOnce = 16;

/**
 * Removes the items of repos that nobody needs any more: of those that a push named and sent nothing to, and of those that
 * were deleted. Whoever uses such a repo again makes its item again.
 *
 * @throws {LedgerUnavailableError}
 */
export async function removeDeadRepos(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  input: {
    /** The tenant as the reconcile found it. */
    before: TenantRecord;
    snapshot: LedgerSnapshot;
    /** As the reconcile has left them. */
    repos: readonly RepoRecord[];
    deadlineMs?: number;
  },
): Promise<void> {
  const { before, snapshot, repos, deadlineMs = Number.POSITIVE_INFINITY } = input;
  const { tenant } = before;
  const noted = new Set([...before.notes.values()].map(({ repo }) => repo));
  const dead = repos.filter(
    (record) =>
      isDisposable(record, snapshot.countedAtMs) &&
      !snapshot.reservations.has(record.repo) &&
      !before.repoLimits.has(record.repo) &&
      !noted.has(record.repo),
  );
  await mapLimited(dead.slice(0, removedMax), removesAtOnce, async (record) => {
    if (clock.nowMs() < deadlineMs) await ledger.removeRepo({ tenant, before: record });
  });
}
