import { mapLimited } from '../rules/async.ts';
import type { CoreDeps } from './core-deps.ts';
import type { LimitCommit, RepoCommit } from './reconcile-store.ts';
import { dueAfterActivityMs, dueAfterFullMs, lookAgainAtMs } from './rules/reconcile-policy.ts';
import { expiredIntents, isUnchanged, type Recomputed } from './rules/reconciliation.ts';
import type { RepoScan } from './rules/repo-reservations.ts';
import {
  isOnHold,
  type LargeRepo,
  overtakenEpochOf,
  pointsAfter,
  type RepoRecord,
  type TenantRecord,
} from './rules/tenant.ts';
import type { LargeRepoOutcome, LargeReposOutcome } from './scan-large-repos.ts';
import { tell } from './seams.ts';
import { type Lease, type LedgerSnapshot, renewOrThrow } from './snapshot.ts';

const writesAtOnce = 8;

/**
 * Writes what each scan found, unless a later scan or a delete has overtaken it.
 *
 * @returns all repos of the tenant as they are now, sorted by name. `superseded` if any write was overtaken; the
 * others may have been made.
 */
export async function commitRepos(
  deps: Pick<CoreDeps, 'ledger' | 'listeners' | 'log'>,
  input: {
    tenant: string;
    epoch: number;
    /** Reconciles up to this epoch may still write. */
    overtakenEpoch: number;
    snapshot: LedgerSnapshot;
    /** Repos that may have changed. */
    due: ReadonlySet<string>;
    /** Repo → what its scan found. */
    scans: ReadonlyMap<string, RepoScan>;
    /** Of the repos that are large repos. */
    largeRepos: ReadonlyMap<string, LargeRepoOutcome>;
    /** Renewed while the repos are written. */
    lease: Pick<Lease, 'renew'>;
  },
): Promise<{ kind: 'committed'; repos: readonly RepoRecord[] } | { kind: 'superseded' }> {
  const { tenant, epoch, overtakenEpoch, snapshot, due, largeRepos, lease } = input;
  const { scanBeganMs } = snapshot;
  const records = new Map(snapshot.repos.map((record) => [record.repo, record]));
  const outcomes = await mapLimited([...input.scans], writesAtOnce, async ([repo, scan]) => {
    const record = records.get(repo);
    const reservations = snapshot.reservations.get(repo);
    // An empty path that has no record needs none.
    if (!record && scan.objectCount === 0 && !reservations) return 'committed';
    const covered = reservations?.coveredBy(scan, scanBeganMs) ?? new Set<string>();
    const putsUntilMs = Math.max(record?.putsUntilMs ?? 0, reservations?.putsUntilMs() ?? 0);
    const isIdle = record !== undefined && !due.has(repo);
    const outcome = largeRepos.get(repo);
    const large = outcome?.large;
    const found = { scan, covered, putsUntilMs, large };
    const isSame = isIdle && isAsFound(record, found);
    if (isSame && record.epoch >= overtakenEpoch) return 'committed';
    // Else an item with nothing in it would become younger as often as a reconcile is overtaken, and never go.
    const isStillEmpty = isSame && scan.objectCount === 0 && !large;
    const scannedAtMs = isStillEmpty ? record.scannedAtMs : (outcome?.scannedAtMs ?? snapshot.scannedAtMs);
    const points = pointsAfter(record && record.epoch > 0 ? record : undefined, { scannedAtMs });
    const commit: RepoCommit = {
      repo,
      storedBytes: scan.storedBytes,
      objectCount: scan.objectCount,
      scannedAtMs,
      epoch,
      covered,
      putsUntilMs,
      ...(points.length > 0 && { points }),
      ...(large && { large }),
      // If this function dies before it has removed the shards, the next reconcile does.
      ...(record?.large && !large && { tidyBelowEpoch: epoch }),
    };
    records.set(repo, { ...record, ...commit, dirtyToken: null, closedAtMs: record?.closedAtMs ?? null });
    if ((await lease.renew()) === 'superseded') return 'superseded';
    const [committed] = await Promise.all([
      deps.ledger.commitRepo({
        tenant,
        repo: commit,
        dirtyTokenRead: record?.dirtyToken ?? null,
        epochRead: record?.epoch,
      }),
      record && tell(deps, 'repoCounted', { tenant, epoch, before: record, scannedAtMs }),
    ]);
    return committed;
  });
  if (outcomes.includes('superseded')) return { kind: 'superseded' };
  return { kind: 'committed', repos: [...records.values()].sort((a, b) => (a.repo < b.repo ? -1 : 1)) };
}

/**
 * Whether a repo's item says already what the scan found. It's written all the same if a late write can change it. A full
 * count of thousands of repos would else write all of their items, at the cost of a LIST request each.
 */
function isAsFound(
  record: RepoRecord,
  found: {
    scan: RepoScan;
    covered: ReadonlySet<string>;
    putsUntilMs: number;
    large: LargeRepo | undefined;
  },
): boolean {
  const { scan, covered, putsUntilMs, large } = found;
  return (
    record.epoch > 0 &&
    record.dirtyToken === null &&
    record.storedBytes === scan.storedBytes &&
    record.objectCount === scan.objectCount &&
    record.putsUntilMs === putsUntilMs &&
    record.large?.sinceEpoch === large?.sinceEpoch &&
    record.large?.rescanFromMs === large?.rescanFromMs &&
    record.large?.isInitialScan === large?.isInitialScan &&
    record.large?.progress?.atMs === large?.progress?.atMs &&
    record.covered.size === covered.size &&
    [...covered].every((id) => record.covered.has(id))
  );
}

const shardsAtOnce = 16;

/**
 * Writes the shards that have changed, if they are as they were read. A write that stays alone is no harm: each shard is
 * right by itself, and whoever reads them next adds them up.
 *
 * @returns `superseded`: another reconcile has changed one.
 * @throws {LedgerUnavailableError | SupersededError}
 */
export async function commitShards(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  input: { tenant: string; outcomes: readonly LargeRepoOutcome[]; lease: Pick<Lease, 'renew'> },
): Promise<'committed' | 'superseded'> {
  const { tenant, outcomes, lease } = input;
  for (const { repo, count, large, scan, dirtyTokenTaken } of outcomes) {
    const changes = count.changes();
    const writes = changes.filter((change) => change.kind === 'write');
    const results = await mapLimited(writes, shardsAtOnce, async (write) => {
      await renewOrThrow(lease);
      return ledger.putShard({ tenant, repo, shard: write.shard, epochRead: write.epochRead });
    });
    if (results.includes('superseded')) return 'superseded';
    // The parts of a split are in force once the shard above them is gone.
    for (const { prefix, epochRead } of changes.filter((change) => change.kind === 'remove')) {
      if ((await ledger.removeShard({ tenant, repo, prefix, epochRead })) === 'superseded')
        return 'superseded';
    }
    if (!scan && large.progress)
      await ledger.noteProgress({ tenant, repo, sinceEpoch: large.sinceEpoch, progress: large.progress });
    if (dirtyTokenTaken !== null) await ledger.clearDirty({ tenant, repo, dirtyToken: dirtyTokenTaken });
  }
  return 'committed';
}

/** Drops the records of deletes that the shards have taken off, and the shards of repos that are large repos no longer. */
export async function tidyShards(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  input: {
    tenant: string;
    epoch: number;
    outcomes: readonly LargeRepoOutcome[];
    formerLargeRepos: readonly string[];
    /** As they were read before. */
    repos: readonly RepoRecord[];
  },
): Promise<void> {
  const { tenant } = input;
  for (const { repo, runs } of input.outcomes)
    await mapLimited(runs, shardsAtOnce, (run) => ledger.dropRemoval({ tenant, repo, ...run }));
  const former = new Map(input.formerLargeRepos.map((repo) => [repo, input.epoch]));
  for (const { repo, tidyBelowEpoch } of input.repos)
    if (tidyBelowEpoch !== undefined && !former.has(repo)) former.set(repo, tidyBelowEpoch);
  for (const [repo, tidyBelowEpoch] of former) {
    // A later reconcile may have made it a large repo again.
    for await (const page of ledger.shards({ tenant, repo }))
      await mapLimited(
        page.filter(({ epoch }) => epoch < tidyBelowEpoch),
        shardsAtOnce,
        ({ prefix, epoch }) => ledger.removeShard({ tenant, repo, prefix, epochRead: epoch }),
      );
    await ledger.endTidy({ tenant, repo, tidyBelowEpoch });
  }
}

/** What is counted is dated no longer before its commit. */
const countsLateMs = 45 * 60_000;

/** When it was counted: when it began to be, if it took no longer than {@link countsLateMs}. No count is before the last one. */
function stepAtMs(
  nowMs: number,
  { before, snapshot }: Pick<CommitTenantInput, 'before' | 'snapshot'>,
): number {
  const lastMs = Math.max(before.stepAtMs ?? 0, before.scanned?.scannedAtMs ?? 0);
  return Math.max(snapshot.scannedAtMs, lastMs, nowMs - countsLateMs);
}

/** The schedule scans further shards after this, at the earliest. */
const shardsRestMs = 60_000;

interface CommitTenantInput {
  readonly epoch: number;
  /** The tenant as the reconcile found it. */
  readonly before: TenantRecord;
  /** The whole tenant was listed. */
  readonly isFull: boolean;
  readonly snapshot: LedgerSnapshot;
  readonly recomputed: Recomputed;
  /** Repo → the same for it alone, of those that have a limit. */
  readonly recomputedLimited: ReadonlyMap<string, Recomputed>;
  /** Of a full count. undefined: not known. */
  readonly oldBytes?: number | undefined;
  /** The budget, with the LIST requests of this reconcile charged to it. */
  readonly listedUntilMs: number;
  readonly largeRepos: LargeReposOutcome;
  /** Items of repos, with those that were made now. */
  readonly repoCount: number;
}

/**
 * Corrects the tenant's counter by the difference to what was recomputed, so that everything added to it since the
 * reconcile began is kept, and sets the new confirmed usage.
 */
export function commitTenant(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  input: CommitTenantInput,
): ReturnType<CoreDeps['ledger']['commitTenant']> {
  const { before, epoch, snapshot, recomputed, listedUntilMs } = input;
  const { scanBeganMs } = snapshot;
  const { outcomes, shardsListedUntilMs, shardLists } = input.largeRepos;
  const scannedAtMs = Math.min(snapshot.scannedAtMs, ...outcomes.map((large) => large.scannedAtMs));
  const listedAtMs = Math.min(snapshot.scannedAtMs, ...outcomes.map((large) => large.listedAtMs));
  const fullScannedAtMs = input.isFull ? listedAtMs : null;
  const atMs = stepAtMs(deps.clock.nowMs(), input);
  const recordOf = new Map(snapshot.repos.map((record) => [record.repo, record]));
  const objectsOf = ({ repo, scan }: LargeRepoOutcome) => (scan ?? recordOf.get(repo))?.objectCount ?? 0;
  const largeRepoObjects = outcomes.reduce((sum, large) => sum + objectsOf(large), 0);
  const {
    storedBytes,
    objectCount,
    totalBytes,
    leastBytes,
    leastUntilMs,
    reservedUntilMs,
    entryCount,
    unconfirmed,
  } = recomputed;
  return deps.ledger.commitTenant({
    tenant: before.tenant,
    epoch,
    correctionBytes: totalBytes - before.committedBytes,
    confirmedBaseBytes: leastBytes - unsureBytes(input, () => true),
    deletedBytesRead: before.deletedBytes,
    confirmedUntilMs: leastUntilMs,
    repoLimits: input.isFull || before.scanned ? limitCommits(input) : new Map(),
    // What was never counted as a whole is unknown, and not what a part of it is.
    scanned: before.scanned || input.isFull ? { storedBytes, objectCount, scannedAtMs } : null,
    listedUntilMs,
    ...((outcomes.length > 0 || before.listedObjectCount !== undefined) && {
      shardsListedUntilMs,
      ...(shardLists && { shardLists }),
      listedObjectCount: objectCount - largeRepoObjects,
    }),
    entryCorrection: entryCount - before.entryCount,
    entriesCounted: entryCount,
    overtakenEpoch: overtakenEpochOf(before),
    repoCount: input.repoCount,
    ...(unconfirmed && { unconfirmed }),
    fullScannedAtMs,
    ...(atMs > scannedAtMs && { stepAtMs: atMs }),
    oldBytes: input.oldBytes,
    reservedUntilMs,
    expiredIntents: expiredIntents(deps.settings, before, scanBeganMs),
    dueAtMs: nextDueMs(deps, { ...input, fullScannedAtMs }),
    lookAtMs: nextLookMs(deps, input),
  });
}

/** What was counted in these repos and may be gone: a delete under way may already have removed what the scan still saw. */
function unsureBytes(
  { before, largeRepos }: Pick<CommitTenantInput, 'before' | 'largeRepos'>,
  isOf: (repo: string) => boolean,
): number {
  const noted = [...before.intents.values()].map(({ repo, bytes }) => ({ repo, bytes }));
  const doubted = largeRepos.outcomes.map(({ repo, doubtBytes: bytes }) => ({ repo, bytes }));
  return [...noted, ...doubted].reduce((sum, { repo, bytes }) => (isOf(repo) ? sum + bytes : sum), 0);
}

function limitCommits(input: CommitTenantInput): Map<string, LimitCommit> {
  const { before, recomputedLimited } = input;
  return new Map(
    [...before.repoLimits].flatMap(([repo, { limitBytes, scanned }]): [string, LimitCommit][] => {
      const found = recomputedLimited.get(repo);
      if (!found) return [];
      const unsure = unsureBytes(input, (name) => name === repo);
      const commit = {
        limitBytes,
        correctionBytes: found.totalBytes - (scanned?.committedBytes ?? 0),
        storedBytes: found.storedBytes,
        confirmedBaseBytes: found.leastBytes - unsure,
        confirmedUntilMs: found.leastUntilMs,
        ...(found.unconfirmed && { unconfirmed: found.unconfirmed }),
      };
      return [[repo, commit]];
    }),
  );
}

/** When the schedule is to look for uploads that were under way, or to scan shards. null: neither. */
function nextLookMs({ settings }: Pick<CoreDeps, 'settings'>, input: CommitTenantInput): number | null {
  const { before, snapshot, recomputed, listedUntilMs, largeRepos } = input;
  const { newestUploadMs } = recomputed;
  const { scannedAtMs } = snapshot;
  const listedMs = Math.max(0, listedUntilMs - Math.max(before.listedUntilMs, scannedAtMs));
  const uploadsAtMs =
    newestUploadMs === null
      ? null
      : lookAgainAtMs(settings, { newestUploadMs, scannedAtMs, listedMs, listedUntilMs });
  if (largeRepos.nextDueAtMs === null) return uploadsAtMs;
  // The schedule takes what becomes due, so it is not now or before.
  const restMs = Math.max(settings.reconcileRestMs, shardsRestMs);
  const shardsAtMs = Math.max(largeRepos.nextDueAtMs, snapshot.scanBeganMs + restMs);
  return Math.min(uploadsAtMs ?? shardsAtMs, shardsAtMs);
}

/** When the schedule is to count the tenant in full next. */
function nextDueMs(
  { settings }: Pick<CoreDeps, 'settings'>,
  input: CommitTenantInput & { fullScannedAtMs: number | null },
): number {
  const { before, epoch, isFull, snapshot, recomputed, listedUntilMs } = input;
  const { scannedAtMs, repos, reservations } = snapshot;
  // A closed tenant stays due from its closing until it is empty, whoever counts it in between.
  if (before.closedAtMs !== null && recomputed.objectCount > 0) return before.dueAtMs;
  const { uploadsFromMs = 0, fullScannedAtMs } = before;
  // Only a full count that begins later ends the hold, and uploads wait for it.
  if (isOnHold({ uploadsFromMs, fullScannedAtMs: input.fullScannedAtMs ?? fullScannedAtMs }))
    return Math.max(uploadsFromMs + 1, scannedAtMs + shardsRestMs, listedUntilMs);
  const due = { tenant: before.tenant, epoch, scannedAtMs, listedUntilMs };
  if (isFull) {
    const isIdle = isUnchanged({ before, recomputed, repos, reservations });
    const unchangedForMs = before.scanned && isIdle ? scannedAtMs - before.scanned.scannedAtMs : 0;
    return dueAfterFullMs(settings, { ...due, unchangedForMs });
  }
  return dueAfterActivityMs(settings, { ...due, dueAtMs: before.dueAtMs });
}
