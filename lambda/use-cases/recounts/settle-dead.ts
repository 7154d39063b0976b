import { countedRepos } from '../../domain/reconciliation.ts';
import type { RepoScan, Settlement } from '../../domain/repo-reservations.ts';
import { type LateRemainder, sumOfLate } from '../../domain/reservation.ts';
import type { Deps } from '../deps.ts';
import { forEachLimited } from '../map-limited.ts';
import type { LedgerSnapshot } from './read-snapshot.ts';

const settledAtOnce = 8;
/** Dead reservations that are settled while somebody waits, at most. The next reconcile finds the others. */
const awaitedSettlementsMax = 1000;
/** Late reservations that one sum replaces, at most. Their ids are in its item. */
const summedMax = 100;

interface SettleDeadInput {
  readonly tenant: string;
  /** Somebody waits for the outcome. */
  readonly isAwaited?: boolean;
  readonly deadlineMs?: number;
  readonly snapshot: LedgerSnapshot;
  readonly scans: ReadonlyMap<string, RepoScan>;
  /** The tenant has so many reservations and claims that those which become late are kept as sums. */
  readonly areLateSummed: boolean;
}

/** What is settled at a time: one reservation, or several that become one. */
interface Step {
  readonly repo: string;
  readonly settlements: readonly Settlement[];
  readonly isSum: boolean;
}

/**
 * Step 6 of a reconcile: before the commit, a dead reservation may be the only sign that its repo changed. Those that
 * are left when the time is up do no harm, and keep the tenant due.
 *
 * @throws {LedgerUnavailableError}
 */
export async function settleDead(
  deps: Pick<Deps, 'ledger' | 'clock' | 'ids'>,
  input: SettleDeadInput,
): Promise<void> {
  const { isAwaited = false, deadlineMs = Number.POSITIVE_INFINITY } = input;
  let settled = 0;
  await forEachLimited(stepsOf(input), settledAtOnce, async (step) => {
    settled += step.settlements.length;
    if (deps.clock.nowMs() >= deadlineMs || (isAwaited && settled > awaitedSettlementsMax)) return;
    await settle(deps, { ...step, tenant: input.tenant });
  });
}

async function settle(
  deps: Pick<Deps, 'ledger' | 'clock' | 'ids'>,
  step: Step & { tenant: string },
): Promise<void> {
  const { tenant, repo, settlements } = step;
  const parts = settlements.filter((settlement) => settlement.kind === 'late');
  const [first] = settlements;
  if (step.isSum) return sumUp(deps, { tenant, repo, parts });
  if (first) await settleOne(deps, { tenant, repo, settlement: first });
}

/**
 * Replaces late reservations by their sum. The sum is written first, and names them: whoever reads it leaves them out, and
 * deletes them if this function has died. Its id is after those of reservations, so that somebody who reads them all
 * meanwhile, and finds some of them gone or not, finds the sum later.
 *
 * The queue runs one message of a tenant at a time, so two functions rarely make sums of the same reservations. If they
 * do, those count twice until the end of their day. What a delete answers cannot tell: `absent` may be our own retry.
 */
async function sumUp(
  { ledger, clock, ids }: Pick<Deps, 'ledger' | 'clock' | 'ids'>,
  input: { tenant: string; repo: string; parts: readonly (LateRemainder & { reservationId: string })[] },
): Promise<void> {
  const { tenant, repo, parts } = input;
  const sum = sumOfLate({ id: `~${ids.random(15)}`, repo, parts, nowMs: clock.nowMs() });
  await ledger.putReservation({ tenant, reservation: sum });
  for (const { reservationId } of parts) await ledger.deleteReservation({ tenant, repo, reservationId });
}

async function settleOne(
  { ledger }: Pick<Deps, 'ledger'>,
  input: { tenant: string; repo: string; settlement: Settlement },
): Promise<void> {
  const { tenant, repo, settlement } = input;
  const key = { tenant, repo, reservationId: settlement.reservationId };
  if (settlement.kind === 'delete') await ledger.deleteReservation(key);
  else await ledger.keepLate({ ...key, claims: settlement.unseen, lookAtMs: settlement.lookAtMs });
}

function* stepsOf({ snapshot, scans, areLateSummed, isAwaited }: SettleDeadInput): Iterable<Step> {
  const { scanBeganMs, repos } = snapshot;
  const countedRepo = countedRepos({ repos, scans });
  for (const [repo, reservations] of snapshot.reservations) {
    let summed: Settlement[] = [];
    for (const settlement of reservations.settle({ counted: countedRepo(repo), scanBeganMs })) {
      if (!areLateSummed || !isPartOfSum(settlement)) {
        yield { repo, settlements: [settlement], isSum: false };
        continue;
      }
      // Nobody waits for a sum, and whoever waits may not be allowed to write one.
      if (isAwaited) continue;
      summed.push(settlement);
      if (summed.length < summedMax) continue;
      yield { repo, settlements: summed, isSum: true };
      summed = [];
    }
    if (summed.length > 0) yield { repo, settlements: summed, isSum: true };
  }
}

/** A sum is never a part of another: it would be late for as long as new ones join it. */
function isPartOfSum(settlement: Settlement): boolean {
  return settlement.kind === 'late' && settlement.isNew;
}
