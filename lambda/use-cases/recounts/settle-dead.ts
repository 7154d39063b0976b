import type { Deps } from '../../deps.ts';
import { countedRepos } from '../../domain/reconciliation.ts';
import type { RepoScan, Settlement } from '../../domain/repo-reservations.ts';
import { forEachLimited } from '../../rules/async.ts';
import type { LedgerSnapshot } from './read-snapshot.ts';

const settledAtOnce = 8;
/** Dead reservations that are settled while somebody waits, at most. The next reconcile finds the others. */
const awaitedSettlementsMax = 1000;

interface SettleDeadInput {
  readonly tenant: string;
  /** Somebody waits for the outcome. */
  readonly isAwaited?: boolean;
  readonly deadlineMs?: number;
  readonly snapshot: LedgerSnapshot;
  readonly scans: ReadonlyMap<string, RepoScan>;
}

/** What becomes of one reservation. */
interface Step {
  readonly repo: string;
  readonly settlement: Settlement;
}

/**
 * Step 6 of a reconcile: before the commit, a dead reservation may be the only sign that its repo changed. Those that
 * are left when the time is up do no harm, and keep the tenant due.
 *
 * @throws {LedgerUnavailableError}
 */
export async function settleDead(
  deps: Pick<Deps, 'ledger' | 'clock'>,
  input: SettleDeadInput,
): Promise<void> {
  const { tenant, isAwaited = false, deadlineMs = Number.POSITIVE_INFINITY } = input;
  let settled = 0;
  await forEachLimited(stepsOf(input), settledAtOnce, async (step) => {
    settled += 1;
    if (deps.clock.nowMs() >= deadlineMs || (isAwaited && settled > awaitedSettlementsMax)) return;
    await settle(deps, { ...step, tenant });
  });
}

async function settle(
  { ledger }: Pick<Deps, 'ledger'>,
  { tenant, repo, settlement }: Step & { tenant: string },
): Promise<void> {
  const key = { tenant, repo, reservationId: settlement.reservationId };
  if (settlement.kind === 'delete') await ledger.deleteReservation(key);
  else await ledger.keepLate({ ...key, claims: settlement.unseen, lookAtMs: settlement.lookAtMs });
}

function* stepsOf({ snapshot, scans }: SettleDeadInput): Iterable<Step> {
  const { scanBeganMs, repos } = snapshot;
  const countedRepo = countedRepos({ repos, scans });
  for (const [repo, reservations] of snapshot.reservations)
    for (const settlement of reservations.settle({ counted: countedRepo(repo), scanBeganMs }))
      yield { repo, settlement };
}
