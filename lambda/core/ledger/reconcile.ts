import { allPages, mapLimited } from '../rules/async.ts';
import { yearMs } from '../rules/dates.ts';
import { commitRepos, commitShards, commitTenant, tidyShards } from './commit-reconcile.ts';
import type { CoreDeps } from './core-deps.ts';
import { emptiedNames } from './empty-objects.ts';
import {
  type Recomputed,
  type ReservationsByRepo,
  recompute,
  recomputeLimited,
  reposToScan,
} from './rules/reconciliation.ts';
import { type Promised, RepoReservations, type RepoScan } from './rules/repo-reservations.ts';
import { isDisposable, overtakenEpochOf, type RepoRecord, type TenantRecord } from './rules/tenant.ts';
import { scanLargeRepos, selectLargeRepos } from './scan-large-repos.ts';
import { type ScanReposOutcome, scanRepos } from './scan-repos.ts';
import { askBefore, tell } from './seams.ts';
import {
  holdLease,
  type Lease,
  type LedgerSnapshot,
  readSnapshot,
  SupersededError,
  settleLapsed,
  type UnseenFiles,
} from './snapshot.ts';

/**
 * Adds the unconfirmed reservations of what was deleted while a reconcile read and listed. It may have read the reservations
 * before a delete wrote one, and listed the repo after the objects were gone. So their room would be free without a
 * bound until the next reconcile.
 *
 * The tenant is read after the scan. If a scan missed objects because of a delete, that was announced by then.
 *
 * @param input.before the tenant as the reconcile found it.
 * @throws {LedgerUnavailableError}
 */
export async function addDeletedMeanwhile(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  input: { before: TenantRecord; snapshot: LedgerSnapshot; scans: ReadonlyMap<string, RepoScan> },
): Promise<void> {
  const { before, snapshot, scans } = input;
  const { tenant } = before;
  // The item of a repo that was not scanned may be of a reconcile that was overtaken, and has seen it empty.
  const overtaken = snapshot.repos.filter(({ epoch }) => epoch > before.appliedEpoch);
  const repos = new Set([...scans.keys(), ...overtaken.map(({ repo }) => repo)]);
  if (repos.size === 0) return;
  const now = await ledger.readTenant(tenant);
  if (before.intents.size === 0 && now?.deletedBytes === before.deletedBytes) return;
  for (const repo of repos) {
    const known = snapshot.reservations.get(repo) ?? new RepoReservations();
    const knownIds = known.ids();
    for await (const page of ledger.reservationsOf({ tenant, repo }))
      for (const reservation of page)
        if (reservation.deletedByMs !== undefined && !knownIds.has(reservation.id)) known.add(reservation);
    if (known.count > 0) snapshot.reservations.set(repo, known);
  }
}

/** Items that one reconcile removes, at most. */
const removedMax = 5000;
const removesAtOnce = 16;

/**
 * Removes the items of repos that nobody needs any more: of those that a push named and sent nothing to, and of those that
 * were deleted. Whoever uses such a repo again makes its item again.
 *
 * @throws {LedgerUnavailableError}
 */
async function removeDeadRepos(
  deps: Pick<CoreDeps, 'ledger' | 'listeners' | 'clock' | 'log'>,
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
  const noted = new Set([...before.intents.values()].map(({ repo }) => repo));
  const lapsed = repos.filter(
    (record) =>
      isDisposable(record, snapshot.scannedAtMs) &&
      !snapshot.reservations.has(record.repo) &&
      (before.closedAtMs !== null || !before.repoLimits.has(record.repo)) &&
      !noted.has(record.repo),
  );
  await mapLimited(lapsed.slice(0, removedMax), removesAtOnce, async (record) => {
    if (deps.clock.nowMs() >= deadlineMs) return;
    await deps.ledger.removeRepo({ tenant, before: record });
    await tell(deps, 'repoRemoved', { tenant, repo: record.repo });
  });
}

/** Measures and logs a reconcile that was committed. */
function reportReconcile(
  deps: Pick<CoreDeps, 'clock' | 'log' | 'metrics' | 'settings'>,
  committed: {
    /** The tenant as the reconcile found it. */
    before: TenantRecord;
    isFull: boolean;
    snapshot: LedgerSnapshot;
    recomputed: Recomputed;
    scans: ReadonlyMap<string, RepoScan>;
    /** LIST requests. */
    requests: number;
    scanEndedMs: number;
  },
): void {
  const { metrics, log } = deps;
  const { before, snapshot, recomputed, requests } = committed;
  const { scanBeganMs } = snapshot;
  const nowMs = deps.clock.nowMs();
  const driftBytes = recomputed.totalBytes - before.committedBytes;
  metrics.increment('ScanRequests', requests);
  metrics.measure('ScanDuration', committed.scanEndedMs - scanBeganMs);
  // The initial scan corrects nothing and replaces no older count.
  if (before.scanned !== null) {
    metrics.measure('DriftBytes', Math.abs(driftBytes));
    metrics.measure('CounterShortfallBytes', Math.max(0, driftBytes));
    const ageMs = Math.max(0, nowMs - before.scanned.scannedAtMs);
    const overdueMs = Math.max(0, nowMs - before.dueAtMs);
    metrics.measure('ReconcileAge', Math.min(ageMs, deps.settings.maxAgeMs + overdueMs));
  }
  log.info('reconciled', {
    tenant: before.tenant,
    full: committed.isFull,
    reposScanned: committed.scans.size,
    requests,
    storedBytes: recomputed.storedBytes,
    objectCount: recomputed.objectCount,
    driftBytes,
    ageMs: before.scanned && nowMs - before.scanned.scannedAtMs,
    durationMs: nowMs - scanBeganMs,
  });
}

export type ReconcileDeps = Pick<
  CoreDeps,
  'ledger' | 'listeners' | 'listing' | 'store' | 'scan' | 'clock' | 'ids' | 'log' | 'metrics' | 'settings'
>;

export interface ReconcileInput {
  readonly tenant: string;
  /** List the whole tenant, including repos that the ledger does not know. Implied if it was never counted. */
  readonly full: boolean;
  /** Count the shards of large repos again, too. Otherwise each is counted once in a round. */
  readonly isThorough?: boolean;
  /** Somebody waits for the outcome: more requests at a time. */
  readonly isAwaited?: boolean;
  /** With more LIST requests than this it gives up. Default: no limit. */
  readonly listsMax?: number;
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
      /** A pending reservation was found whose batch may have died. A reconcile a minute after it began voids it. */
      readonly hasAgedPending: boolean;
      /** The whole tenant was counted. */
      readonly isFull: boolean;
      /** Repos are being counted for the first time: their numbers are those of before. A full count waits for them. */
      readonly hasInitialScans: boolean;
      /** When shards are to be scanned next. null: there are none. */
      readonly shardsDueAtMs: number | null;
      readonly unseenFiles: UnseenFiles;
    }
  /** Another reconcile holds the lease. */
  | { readonly kind: 'busy'; readonly leaseUntilMs: number }
  /** A later reconcile or a delete overtook this one, or it gave up. Whatever it wrote, the next one corrects. */
  | { readonly kind: 'superseded' }
  /** The deadline passed before everything was listed. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'absent' };

/** What the committed numbers hold of the objects of the excluded reservation. */
export interface ReconcileBasis {
  /** oid → what live reservations of the repo promise, without the excluded one. */
  readonly promised: ReadonlyMap<string, Promised>;
  /** The oids that the scan saw. */
  readonly seen: Pick<ReadonlySet<string>, 'has'>;
}

/** A reconcile that holds the lease. */
interface HeldReconcile {
  readonly input: ReconcileInput;
  readonly epoch: number;
  /** The tenant right before the epoch was taken. */
  readonly before: TenantRecord;
  readonly lease: Lease;
}

interface ReconcileRun extends HeldReconcile {
  /** The whole tenant is listed. */
  readonly isFull: boolean;
}

/**
 * Recomputes a tenant's usage from what the bucket lists and what live reservations may still bring, and
 * corrects the counter by the difference. docs/how-it-works.md explains each step and why it stands where it does.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} Whatever was written by then, the next reconcile corrects.
 */
export async function reconcile(deps: ReconcileDeps, input: ReconcileInput): Promise<ReconcileOutcome> {
  const { tenant } = input;
  const nowMs = deps.clock.nowMs();
  const leaseUntilMs = nowMs + deps.settings.reconcileLeaseMs;
  // Step 1.
  const begun = await deps.ledger.beginReconcile({
    tenant,
    holder: deps.ids.random(12),
    nowMs,
    leaseUntilMs,
  });
  if (begun.kind !== 'begun') return begun;
  const { epoch, before } = begun;
  const lease = holdLease(deps, { ...input, before, epoch, untilMs: leaseUntilMs });
  try {
    const outcome = await scanAndCommit(deps, { input, epoch, before, lease }).catch((error: unknown) => {
      if (error instanceof SupersededError) return { kind: 'superseded' } as const;
      throw error;
    });
    if (outcome.kind !== 'committed') await lease.release();
    return outcome;
  } catch (error) {
    // The lease expires by itself. The error to report is what broke the reconcile.
    await lease.release().catch(() => undefined);
    throw error;
  }
}

/** Steps 2 to 6. */
async function scanAndCommit(deps: ReconcileDeps, held: HeldReconcile): Promise<ReconcileOutcome> {
  const { input, epoch, before, lease } = held;
  const { tenant } = input;
  // Once it's counted, batches look for deletions by today's keys alone.
  if (before.mayHaveOlderKeys) await allPages(deps.ledger.deletions(tenant));
  const snapshot = await readSnapshot(deps, { tenant, excludedId: input.exclude?.reservationId, lease });
  if (snapshot === 'superseded') return { kind: 'superseded' };

  // A full count has to wait for repos that are being counted for the first time. Meanwhile it would list the others
  // again and again.
  const isScanning = snapshot.repos.some(({ large }) => large?.isInitialScan);
  const isWanted = (input.full || before.scanned === null) && !isScanning;
  const run = { ...held, isFull: isWanted };
  const found = await countRepos(deps, { run, snapshot });
  if (found.kind !== 'done') return found;
  const scanEndedMs = deps.clock.nowMs();
  const { due, scans, largeRepos, requests } = found;
  const { outcomes } = largeRepos;
  const addDeleted = addDeletedMeanwhile(deps, { before, snapshot, scans });
  const [tellOfCommit] = await Promise.all([askBefore(deps, before), addDeleted]);

  const initialScans = outcomes.filter(({ scan }) => scan === undefined).map(({ repo }) => repo);
  const isFull = run.isFull && initialScans.length === 0;
  const counting = { ...snapshot, ...found, behind: new Set(initialScans), settings: deps.settings };
  const recomputed = recompute({ ...counting, limitBytes: before.limitBytes });
  const recomputedLimited = recomputeLimited({ ...counting, repoLimits: before.repoLimits });

  if ((await commitShards(deps, { tenant, outcomes, lease })) === 'superseded') return { kind: 'superseded' };
  const repoCommits = await commitRepos(deps, {
    tenant,
    epoch,
    overtakenEpoch: overtakenEpochOf(before),
    snapshot,
    due,
    scans,
    largeRepos: new Map(outcomes.map((outcome) => [outcome.repo, outcome])),
    lease,
  });
  if (repoCommits.kind === 'superseded') return repoCommits;
  const commit = await commitTenant(deps, {
    epoch,
    before,
    isFull,
    snapshot,
    recomputed,
    recomputedLimited,
    oldBytes: isFull ? oldBytesOf(scans) : undefined,
    listedUntilMs: lease.chargedUntilMs(),
    largeRepos,
    repoCount: repoCommits.repos.length,
  });
  if (commit.kind === 'superseded') return commit;

  const [unseenFiles] = await Promise.all([
    settleLapsed(deps, { ...input, snapshot, scans }),
    tellOfCommit({ before, after: commit.tenant, epoch }),
  ]);

  await tidyShards(deps, { ...found, tenant, epoch, outcomes, repos: snapshot.repos });
  if (!input.isAwaited) await removeDeadRepos(deps, { ...input, before, snapshot, repos: repoCommits.repos });

  reportReconcile(deps, { before, isFull, snapshot, recomputed, scans, requests, scanEndedMs });
  return {
    kind: 'committed',
    tenant: commit.tenant,
    repos: repoCommits.repos,
    basis: basisOf({ input, snapshot, scans }),
    hasAgedPending: snapshot.hasAgedPending,
    isFull,
    hasInitialScans: initialScans.length > 0,
    shardsDueAtMs: largeRepos.nextDueAtMs,
    unseenFiles,
  };
}

function basisOf(run: {
  input: ReconcileInput;
  snapshot: LedgerSnapshot;
  scans: ReadonlyMap<string, RepoScan>;
}): ReconcileBasis {
  const { input, snapshot, scans } = run;
  const { repo = '', oids = new Set<string>() } = input.exclude ?? {};
  const ofRepo = snapshot.reservations.get(repo);
  return {
    promised: ofRepo?.promises({ oids, nowMs: snapshot.scanBeganMs }) ?? new Map(),
    seen: scans.get(repo)?.seen ?? new Set(),
  };
}

/** Step 3: lists the repos that may have changed, and counts the large repos by their shards. */
async function countRepos(
  deps: ReconcileDeps,
  { run, snapshot }: { run: ReconcileRun; snapshot: LedgerSnapshot },
) {
  const { input, isFull, before } = run;
  const { isAwaited = false, isThorough = false, deadlineMs, exclude } = input;
  const { repos, reservations, scanBeganMs } = snapshot;
  const due = reposToScan({ repos, reservations, tenant: before, nowMs: scanBeganMs });
  const selected = selectLargeRepos(deps, { repos, due, isFull, isAwaited });
  for (const repo of selected.former) due.add(repo);
  // Before the listing: who puts or removes one later sets a dirty token after it.
  const emptied = await emptiedNames(deps, { tenant: input.tenant, repos });
  const scanned = await scanWhatMayHaveChanged(deps, {
    run,
    snapshot,
    due,
    largeRepos: selected.names,
    emptied,
  });
  if (scanned.kind !== 'done') return scanned;
  const largeRepos = await scanLargeRepos(deps, {
    ...run,
    snapshot,
    largeRepos: [...selected.records, ...scanned.outgrown],
    emptied,
    isAwaited,
    isThorough,
    awaitedOidsOf: (repo) => (exclude?.repo === repo ? exclude.oids : new Set()),
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
  const { outcomes } = largeRepos;
  const scans = new Map(
    [...scanned.scans].map(([repo, scan]) => [repo, withoutEmptied(scan, emptied.get(repo))]),
  );
  for (const { repo, scan } of outcomes) if (scan) scans.set(repo, scan);
  return {
    kind: 'done' as const,
    due,
    largeRepos,
    scans,
    emptiedCount: [...emptied.values()].reduce((sum, names) => sum + names.size, 0),
    // One that was listed as an ordinary repo may have turned out to be a large repo again: its shards count it.
    formerLargeRepos: selected.former.filter((repo) => !outcomes.some((outcome) => outcome.repo === repo)),
    requests: outcomes.reduce((sum, { shardLists }) => sum + shardLists, scanned.requests),
  };
}

/** What is counted without the empty objects at these names. */
function withoutEmptied(scan: RepoScan, names: ReadonlySet<string> | undefined): RepoScan {
  if (!names) return scan;
  const hidden = [...names].filter((name) => scan.seen.get?.(name) === 0);
  return { ...scan, objectCount: scan.objectCount - hidden.length };
}

/** What of it was stored over a year ago. undefined: one of them doesn't tell. */
function oldBytesOf(scans: ReadonlyMap<string, RepoScan>): number | undefined {
  const scanned = [...scans.values()].filter(({ objectCount }) => objectCount > 0);
  if (scanned.some(({ oldBytes }) => oldBytes === undefined)) return undefined;
  return scanned.reduce((sum, { oldBytes = 0 }) => sum + oldBytes, 0);
}

/** Everything else has not changed since its last scan. */
function scanWhatMayHaveChanged(
  deps: ReconcileDeps,
  scanning: {
    run: ReconcileRun;
    snapshot: LedgerSnapshot;
    due: ReadonlySet<string>;
    largeRepos: ReadonlySet<string>;
    emptied: ReadonlyMap<string, ReadonlySet<string>>;
  },
): Promise<ScanReposOutcome> {
  const { run, snapshot, due, largeRepos, emptied } = scanning;
  const { input } = run;
  const { repos, reservations } = snapshot;
  return scanRepos(deps, {
    tenant: input.tenant,
    known: repos,
    due,
    largeRepos,
    isFull: run.isFull,
    lookFor: (repo) => {
      const oids = oidsOf(reservations, { repo, excluded: input.exclude });
      for (const name of emptied.get(repo) ?? []) oids.add(name);
      return oids;
    },
    ...(run.isFull && { oldBeforeMs: snapshot.scanBeganMs - yearMs }),
    isAwaited: input.isAwaited ?? false,
    ...(input.deadlineMs !== undefined && { deadlineMs: input.deadlineMs }),
    lease: run.lease,
  });
}

/** The oids of a repo of which the scan must say whether it saw them. */
function oidsOf(
  reservations: ReservationsByRepo,
  { repo, excluded }: { repo: string; excluded: ReconcileInput['exclude'] },
): Set<string> {
  const oids = reservations.get(repo)?.oids() ?? new Set();
  if (excluded?.repo === repo) for (const oid of excluded.oids) oids.add(oid);
  return oids;
}
