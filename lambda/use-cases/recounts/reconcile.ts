import {
  expiredNotes,
  isUnchanged,
  type Recomputed,
  type RepoScan,
  recompute,
  reposToScan,
} from '../../domain/reconciliation.ts';
import { dueAfterActivityMs, dueAfterFullMs } from '../../domain/recount-policy.ts';
import { isAbandoned, isDead, type Reservation } from '../../domain/reservation.ts';
import type { RepoRecord, TenantRecord } from '../../domain/tenant.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
import { commitRepos } from './commit-repos.ts';
import { holdLease, type Lease } from './lease.ts';
import { reportReconcile } from './report-reconcile.ts';
import { scanRepos } from './scan-repos.ts';

export type ReconcileDeps = Pick<
  Deps,
  'ledger' | 'listing' | 'scan' | 'clock' | 'ids' | 'log' | 'metrics' | 'settings'
>;

export interface ReconcileInput {
  readonly tenant: string;
  /** List the whole tenant, repos that nobody knew too. Always done for one that was never counted. */
  readonly full: boolean;
  /** Somebody waits for the answer: more requests at once. */
  readonly someoneWaits?: boolean;
  /** Gives up then, leaving everything as it was. */
  readonly deadlineMs?: number;
  /** A batch's own reservation, which is not counted yet and must not be in what it is measured against. */
  readonly without?: {
    readonly reservationId: string;
    readonly repo: string;
    readonly oids: ReadonlySet<string>;
  };
}

export type ReconcileOutcome =
  | {
      readonly kind: 'committed';
      readonly tenant: TenantRecord;
      readonly repos: readonly RepoRecord[];
      readonly found: Findings;
    }
  /** Another reconcile holds the lease. */
  | { readonly kind: 'busy'; readonly leaseUntilMs: number }
  /** A later reconcile, or a delete, overtook this one: nothing was changed that it would not set right. */
  | { readonly kind: 'superseded' }
  /** The deadline passed before everything was listed. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'absent' };

/** What a batch that reconciled inline can choose by. */
export interface Findings {
  /** Live reservations besides its own. */
  readonly live: readonly Reservation[];
  readonly scans: ReadonlyMap<string, RepoScan>;
}

/**
 * Recomputes a tenant's usage from what the bucket lists and what live reservations may still bring, and
 * corrects the counter by the difference. The steps and why each is where it is: docs/ledger.md.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} with nothing half done that a later one won't mend.
 */
export async function reconcile(deps: ReconcileDeps, input: ReconcileInput): Promise<ReconcileOutcome> {
  const { ledger, clock, settings } = deps;
  const beganMs = clock.nowMs();
  const begun = await ledger.beginReconcile({
    tenant: input.tenant,
    nowMs: beganMs,
    leaseUntilMs: beganMs + settings.reconcileLeaseMs,
  });
  if (begun.kind !== 'begun') return begun;
  const lease = holdLease(deps, {
    before: begun.before,
    epoch: begun.epoch,
    untilMs: beganMs + settings.reconcileLeaseMs,
  });
  try {
    const outcome = await scanAndCommit(deps, input, begun, lease);
    if (outcome.kind !== 'committed') await lease.release();
    return outcome;
  } catch (error) {
    // The lease runs out by itself; what broke the reconcile is the error to report, not this.
    await lease.release().catch(() => undefined);
    throw error;
  }
}

async function scanAndCommit(
  deps: ReconcileDeps,
  input: ReconcileInput,
  begun: { epoch: number; before: TenantRecord },
  lease: Lease,
): Promise<ReconcileOutcome> {
  const { ledger, clock, settings } = deps;
  const { before, epoch } = begun;
  const { tenant } = input;

  // What comes while the reservations are read may be missed, so the count is of before that.
  const countedAtMs = clock.nowMs();
  // Reservations are read before the repos: a `covered` id read later speaks of a reservation seen here.
  const reservations = await liveAndDead(deps, input);
  const repos = await allPages(ledger.repos(tenant));
  const scanBeganMs = clock.nowMs();
  const expired = expiredNotes(settings, before, scanBeganMs);
  const full = input.full || before.counted === null;
  const scanned = await scanRepos(deps, {
    tenant,
    known: repos,
    due: reposToScan({ repos, reservations, tenant: before }),
    full,
    lookFor: oidsByRepo(reservations, input.without),
    someoneWaits: input.someoneWaits ?? false,
    ...(input.deadlineMs !== undefined && { deadlineMs: input.deadlineMs }),
    lease,
  });
  if (scanned.kind !== 'done') return scanned;

  const scanEndedMs = clock.nowMs();
  const { scans, requests } = scanned;
  const found = recompute({ repos, scans, reservations, scanBeganMs, settings });
  const times = { countedAtMs, scanBeganMs };
  const repoCommits = await commitRepos(deps, { tenant, epoch, repos, scans, reservations, ...times });
  if (repoCommits.kind === 'superseded') return repoCommits;

  const listedUntilMs = lease.chargedUntilMs();
  const notesBytes = [...before.notes.values()].reduce((sum, note) => sum + note.bytes, 0);
  const committed = await ledger.commitTenant({
    tenant,
    epoch,
    correctionBytes: found.totalBytes - before.committedBytes,
    floorBaseBytes: found.leastBytes - notesBytes + before.deletedBytes,
    floorUntilMs: found.leastUntilMs,
    counted: { storedBytes: found.storedBytes, objectCount: found.objectCount, countedAtMs },
    listedUntilMs,
    expiredNotes: expired,
    dueAtMs: nextDueMs(deps, { before, epoch, full, found, repos, reservations, countedAtMs, listedUntilMs }),
  });
  if (committed.kind === 'superseded') return committed;

  await deleteDead(deps, { tenant, reservations, scanBeganMs });
  reportReconcile(deps, {
    ...found,
    ...times,
    scanEndedMs,
    before,
    full,
    reposScanned: scans.size,
    requests,
  });
  const live = reservations.filter((reservation) => !isDead(reservation, scanBeganMs));
  return { kind: 'committed', tenant: committed.tenant, repos: repoCommits.repos, found: { live, scans } };
}

/** When the schedule is to count the tenant in full next; null: as it was said before. */
function nextDueMs(
  { settings }: Pick<Deps, 'settings'>,
  input: {
    before: TenantRecord;
    epoch: number;
    full: boolean;
    found: Recomputed;
    repos: readonly RepoRecord[];
    reservations: readonly Reservation[];
    countedAtMs: number;
    listedUntilMs: number;
  },
): number | null {
  const { before, countedAtMs, epoch, listedUntilMs } = input;
  // It is to be emptied, whoever counted it first: it stays due from its closing on.
  if (before.closedAtMs !== null && input.found.objectCount > 0) return null;
  const due = { tenant: before.tenant, epoch, countedAtMs, listedUntilMs };
  if (input.full) {
    const unchangedForMs =
      before.counted && isUnchanged(input) ? countedAtMs - before.counted.countedAtMs : 0;
    return dueAfterFullMs(settings, { ...due, unchangedForMs });
  }
  const dueAtMs = dueAfterActivityMs(settings, { ...due, dueAtMs: before.dueAtMs });
  return dueAtMs === before.dueAtMs ? null : dueAtMs;
}

/** Every reservation but the own one and those whose batch died before it could issue, which are voided. */
async function liveAndDead(deps: ReconcileDeps, input: ReconcileInput): Promise<Reservation[]> {
  const { ledger, clock, settings } = deps;
  const all = await allPages(ledger.reservations(input.tenant));
  const others = all.filter((reservation) => reservation.id !== input.without?.reservationId);
  const voided = await mapLimited(others, 8, async (reservation) => {
    if (!isAbandoned(settings, reservation, clock.nowMs())) return false;
    const outcome = await ledger.voidReservation({ tenant: input.tenant, reservationId: reservation.id });
    return outcome === 'gone';
  });
  return others.filter((_, index) => !voided[index]);
}

function oidsByRepo(
  reservations: readonly Reservation[],
  own: ReconcileInput['without'],
): ReadonlyMap<string, ReadonlySet<string>> {
  const oids = new Map<string, Set<string>>();
  const add = (repo: string, names: Iterable<string>) => {
    const set = oids.get(repo) ?? new Set();
    for (const name of names) set.add(name);
    oids.set(repo, set);
  };
  for (const reservation of reservations) add(reservation.repo, reservation.claims.keys());
  if (own) add(own.repo, own.oids);
  return oids;
}

/** Only now, after the commit: until then a dead reservation may be the only sign that its repo changed. */
async function deleteDead(
  deps: ReconcileDeps,
  input: { tenant: string; reservations: readonly Reservation[]; scanBeganMs: number },
): Promise<void> {
  const dead = input.reservations.filter((reservation) => isDead(reservation, input.scanBeganMs));
  await mapLimited(dead, 8, (reservation) =>
    deps.ledger.deleteReservation({ tenant: input.tenant, reservationId: reservation.id }),
  );
}
