import { type RepoScan, recompute, reposToScan } from '../../domain/reconciliation.ts';
import { isDead, type Reservation } from '../../domain/reservation.ts';
import type { RepoRecord, TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
import { commitRepos } from './commit-repos.ts';
import { commitTenant } from './commit-tenant.ts';
import { holdLease, type Lease } from './lease.ts';
import { type LedgerSnapshot, readSnapshot } from './read-snapshot.ts';
import { reportReconcile } from './report-reconcile.ts';
import { type ScanReposOutcome, scanRepos } from './scan-repos.ts';

const deletesAtOnce = 8;
/** Dead reservations that are deleted while somebody waits, at most. The next reconcile finds the others. */
const awaitedDeletesMax = 1000;

export type ReconcileDeps = Pick<
  Deps,
  'ledger' | 'listing' | 'scan' | 'clock' | 'ids' | 'log' | 'metrics' | 'settings'
>;

export interface ReconcileInput {
  readonly tenant: string;
  /** List the whole tenant, including repos that the ledger does not know. Implied if it was never counted. */
  readonly full: boolean;
  /** Somebody waits for the outcome: more requests at a time. */
  readonly isAwaited?: boolean;
  /** The scan ends as `unfinished` at this time. */
  readonly deadlineMs?: number;
  /**
   * A batch's own reservation. Its bytes are not in the counter yet, so they must not be in the numbers that the
   * batch is measured against.
   */
  readonly exclude?: {
    readonly reservationId: string;
    readonly repo: string;
    /** The scan still looks for these. */
    readonly oids: ReadonlySet<string>;
  };
}

export type ReconcileOutcome =
  | {
      readonly kind: 'committed';
      readonly tenant: TenantRecord;
      readonly repos: readonly RepoRecord[];
      readonly basis: ReconcileBasis;
    }
  /** Another reconcile holds the lease. */
  | { readonly kind: 'busy'; readonly leaseUntilMs: number }
  /** A later reconcile or a delete overtook this one. Whatever this one wrote, the later one corrects. */
  | { readonly kind: 'superseded' }
  /** The deadline passed before everything was listed. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'absent' };

/** What the committed numbers were computed from. */
export interface ReconcileBasis {
  /** Live reservations, without the excluded one. */
  readonly live: readonly Reservation[];
  /** Repo → what was scanned. Repos that were not scanned are absent. */
  readonly scans: ReadonlyMap<string, RepoScan>;
}

/** A reconcile that holds the lease. */
interface ReconcileRun {
  readonly input: ReconcileInput;
  readonly isFull: boolean;
  readonly epoch: number;
  /** The tenant right before the epoch was taken. */
  readonly before: TenantRecord;
  readonly lease: Lease;
}

/**
 * Recomputes a tenant's usage from what the bucket lists and what live reservations may still bring, and
 * corrects the counter by the difference. docs/ledger.md explains each step and why it stands where it does.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} Whatever was written by then, the next reconcile corrects.
 */
export async function reconcile(deps: ReconcileDeps, input: ReconcileInput): Promise<ReconcileOutcome> {
  const { tenant } = input;
  const nowMs = deps.clock.nowMs();
  const leaseUntilMs = nowMs + deps.settings.reconcileLeaseMs;
  // Step 1.
  const begun = await deps.ledger.beginReconcile({ tenant, nowMs, leaseUntilMs });
  if (begun.kind !== 'begun') return begun;
  const { epoch, before } = begun;
  const lease = holdLease(deps, { before, epoch, untilMs: leaseUntilMs });
  const isFull = input.full || before.counted === null;
  try {
    const outcome = await scanAndCommit(deps, { input, isFull, epoch, before, lease });
    if (outcome.kind !== 'committed') await lease.release();
    return outcome;
  } catch (error) {
    // The lease expires by itself. The error to report is what broke the reconcile.
    await lease.release().catch(() => undefined);
    throw error;
  }
}

/** Steps 2 to 6. */
async function scanAndCommit(deps: ReconcileDeps, run: ReconcileRun): Promise<ReconcileOutcome> {
  const { input, isFull, epoch, before, lease } = run;
  const { tenant } = input;
  const snapshot = await readSnapshot(deps, { tenant, excludedId: input.exclude?.reservationId });

  const scanned = await scanWhatMayHaveChanged(deps, { run, snapshot });
  if (scanned.kind !== 'done') return scanned;
  const scanEndedMs = deps.clock.nowMs();
  const { scans, requests } = scanned;

  const recomputed = recompute({ ...snapshot, scans, settings: deps.settings });

  const repoCommits = await commitRepos(deps, { tenant, epoch, snapshot, scans });
  if (repoCommits.kind === 'superseded') return repoCommits;
  const listedUntilMs = lease.chargedUntilMs();
  const commit = await commitTenant(deps, { epoch, before, isFull, snapshot, recomputed, listedUntilMs });
  if (commit.kind === 'superseded') return commit;

  await deleteDead(deps, { input, snapshot });

  reportReconcile(deps, { before, isFull, snapshot, recomputed, scans, requests, scanEndedMs });
  const live = snapshot.reservations.filter((reservation) => !isDead(reservation, snapshot.scanBeganMs));
  return { kind: 'committed', tenant: commit.tenant, repos: repoCommits.repos, basis: { live, scans } };
}

/** Step 3: everything else has not changed since its last scan. */
function scanWhatMayHaveChanged(
  deps: ReconcileDeps,
  { run, snapshot }: { run: ReconcileRun; snapshot: LedgerSnapshot },
): Promise<ScanReposOutcome> {
  const { input, before } = run;
  const { repos, reservations } = snapshot;
  return scanRepos(deps, {
    tenant: input.tenant,
    known: repos,
    due: reposToScan({ repos, reservations, tenant: before }),
    isFull: run.isFull,
    lookFor: oidsByRepo(reservations, input.exclude),
    isAwaited: input.isAwaited ?? false,
    ...(input.deadlineMs !== undefined && { deadlineMs: input.deadlineMs }),
    lease: run.lease,
  });
}

/** Repo → the oids of which the scan must say whether it saw them. */
function oidsByRepo(
  reservations: readonly Reservation[],
  excluded: ReconcileInput['exclude'],
): ReadonlyMap<string, ReadonlySet<string>> {
  const byRepo = new Map<string, Set<string>>();
  const add = (repo: string, oids: Iterable<string>) => {
    const all = byRepo.get(repo) ?? new Set();
    for (const oid of oids) all.add(oid);
    byRepo.set(repo, all);
  };
  for (const reservation of reservations) add(reservation.repo, reservation.claims.keys());
  if (excluded) add(excluded.repo, excluded.oids);
  return byRepo;
}

/**
 * Step 6: before the commit, a dead reservation may be the only sign that its repo changed. Those that are left when
 * the time is up do no harm, and keep the tenant due.
 */
async function deleteDead(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  { input, snapshot }: { input: ReconcileInput; snapshot: LedgerSnapshot },
): Promise<void> {
  const { tenant, isAwaited, deadlineMs = Number.POSITIVE_INFINITY } = input;
  const dead = snapshot.reservations.filter((reservation) => isDead(reservation, snapshot.scanBeganMs));
  const some = isAwaited ? dead.slice(0, awaitedDeletesMax) : dead;
  await mapLimited(some, deletesAtOnce, async ({ id, repo }) => {
    if (clock.nowMs() < deadlineMs) await ledger.deleteReservation({ tenant, repo, reservationId: id });
  });
}
