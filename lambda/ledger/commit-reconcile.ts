import type { Deps } from '../deps.ts';
import { mapLimited } from '../rules/async.ts';
import type { LimitCommit, RepoCommit } from './reconcile-store.ts';
import { dueAfterActivityMs, dueAfterFullMs, lookAgainAtMs } from './rules/reconcile-policy.ts';
import { expiredNotes, isUnchanged, type Recomputed } from './rules/reconciliation.ts';
import type { RepoScan } from './rules/repo-reservations.ts';
import {
  type Giant,
  overtakenEpochOf,
  pointsAfter,
  type RepoRecord,
  type TenantRecord,
} from './rules/tenant.ts';
import type { GiantOutcome, GiantsOutcome } from './scan-large-repos.ts';
import { type Lease, type LedgerSnapshot, renewOrThrow } from './snapshot.ts';

const writesAtOnce = 8;

/**
 * Writes what each scan found, unless a later scan or a delete has overtaken it.
 *
 * @returns all repos of the tenant as they are now, sorted by name. `superseded` if any write was overtaken; the
 * others may have been made.
 */
export async function commitRepos(
  deps: Pick<Deps, 'ledger'>,
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
    /** Of the repos that are giants. */
    giants: ReadonlyMap<string, GiantOutcome>;
    /** Renewed while the repos are written. */
    lease: Pick<Lease, 'renew'>;
  },
): Promise<{ kind: 'committed'; repos: readonly RepoRecord[] } | { kind: 'superseded' }> {
  const { tenant, epoch, overtakenEpoch, snapshot, due, giants, lease } = input;
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
    const outcome = giants.get(repo);
    const giant = outcome?.giant;
    const found = { scan, covered, putsUntilMs, giant };
    const isSame = isIdle && isAsFound(record, found);
    if (isSame && record.epoch >= overtakenEpoch) return 'committed';
    // Else an item with nothing in it would become younger as often as a reconcile is overtaken, and never go.
    const isStillEmpty = isSame && scan.objectCount === 0 && !giant;
    const countedAtMs = isStillEmpty ? record.countedAtMs : (outcome?.countedAtMs ?? snapshot.countedAtMs);
    const points = pointsAfter(record && record.epoch > 0 ? record : undefined, { countedAtMs });
    const commit: RepoCommit = {
      repo,
      storedBytes: scan.storedBytes,
      objectCount: scan.objectCount,
      countedAtMs,
      epoch,
      covered,
      putsUntilMs,
      ...(points.length > 0 && { points }),
      ...(giant && { giant }),
      // If this function dies before it has removed the shards, the next reconcile does.
      ...(record?.giant && !giant && { tidyBelowEpoch: epoch }),
    };
    records.set(repo, { ...record, ...commit, dirtyToken: null, closedAtMs: record?.closedAtMs ?? null });
    if ((await lease.renew()) === 'superseded') return 'superseded';
    return deps.ledger.commitRepo({
      tenant,
      repo: commit,
      dirtyTokenRead: record?.dirtyToken ?? null,
      epochRead: record?.epoch,
    });
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
    giant: Giant | undefined;
  },
): boolean {
  const { scan, covered, putsUntilMs, giant } = found;
  return (
    record.epoch > 0 &&
    record.dirtyToken === null &&
    record.storedBytes === scan.storedBytes &&
    record.objectCount === scan.objectCount &&
    record.putsUntilMs === putsUntilMs &&
    record.giant?.sinceEpoch === giant?.sinceEpoch &&
    record.giant?.recountFromMs === giant?.recountFromMs &&
    record.giant?.isFirstCount === giant?.isFirstCount &&
    record.giant?.progress?.atMs === giant?.progress?.atMs &&
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
  { ledger }: Pick<Deps, 'ledger'>,
  input: { tenant: string; outcomes: readonly GiantOutcome[]; lease: Pick<Lease, 'renew'> },
): Promise<'committed' | 'superseded'> {
  const { tenant, outcomes, lease } = input;
  for (const { repo, count, giant, scan, dirtyTokenTaken } of outcomes) {
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
    if (!scan && giant.progress)
      await ledger.noteProgress({ tenant, repo, sinceEpoch: giant.sinceEpoch, progress: giant.progress });
    if (dirtyTokenTaken !== null) await ledger.clearDirty({ tenant, repo, dirtyToken: dirtyTokenTaken });
  }
  return 'committed';
}

/** Drops the records of deletes that the shards have taken off, and the shards of repos that are giants no longer. */
export async function tidyShards(
  { ledger }: Pick<Deps, 'ledger'>,
  input: {
    tenant: string;
    epoch: number;
    outcomes: readonly GiantOutcome[];
    formerGiants: readonly string[];
    /** As they were read before. */
    repos: readonly RepoRecord[];
  },
): Promise<void> {
  const { tenant } = input;
  for (const { repo, runs } of input.outcomes)
    await mapLimited(runs, shardsAtOnce, (run) => ledger.dropRemoval({ tenant, repo, ...run }));
  const former = new Map(input.formerGiants.map((repo) => [repo, input.epoch]));
  for (const { repo, tidyBelowEpoch } of input.repos)
    if (tidyBelowEpoch !== undefined && !former.has(repo)) former.set(repo, tidyBelowEpoch);
  for (const [repo, tidyBelowEpoch] of former) {
    // A later reconcile may have made it a giant again.
    for await (const page of ledger.shards({ tenant, repo }))
      await mapLimited(
        page.filter(({ epoch }) => epoch < tidyBelowEpoch),
        shardsAtOnce,
        ({ prefix, epoch }) => ledger.removeShard({ tenant, repo, prefix, epochRead: epoch }),
      );
    await ledger.endTidy({ tenant, repo, tidyBelowEpoch });
  }
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
  /** The budget, with the LIST requests of this reconcile charged to it. */
  readonly listedUntilMs: number;
  readonly giants: GiantsOutcome;
  /** Items of repos, with those that were made now. */
  readonly repoCount: number;
}

/**
 * Corrects the tenant's counter by the difference to what was recomputed, so that everything added to it since the
 * reconcile began is kept, and sets the new floor.
 */
export function commitTenant(
  deps: Pick<Deps, 'ledger' | 'settings'>,
  input: CommitTenantInput,
): ReturnType<Deps['ledger']['commitTenant']> {
  const { before, epoch, snapshot, recomputed, listedUntilMs } = input;
  const { scanBeganMs } = snapshot;
  const { outcomes, shardsListedUntilMs, shardLists } = input.giants;
  const countedAtMs = Math.min(snapshot.countedAtMs, ...outcomes.map((giant) => giant.countedAtMs));
  const listedAtMs = Math.min(snapshot.countedAtMs, ...outcomes.map((giant) => giant.listedAtMs));
  const recordOf = new Map(snapshot.repos.map((record) => [record.repo, record]));
  const objectsOf = ({ repo, scan }: GiantOutcome) => (scan ?? recordOf.get(repo))?.objectCount ?? 0;
  const giantObjects = outcomes.reduce((sum, giant) => sum + objectsOf(giant), 0);
  const {
    storedBytes,
    objectCount,
    totalBytes,
    leastBytes,
    leastUntilMs,
    reservedUntilMs,
    claimCount,
    late,
  } = recomputed;
  return deps.ledger.commitTenant({
    tenant: before.tenant,
    epoch,
    correctionBytes: totalBytes - before.committedBytes,
    floorBaseBytes: leastBytes - unsureBytes(input, () => true),
    deletedBytesRead: before.deletedBytes,
    floorUntilMs: leastUntilMs,
    repoLimits: input.isFull || before.counted ? limitCommits(input) : new Map(),
    // What was never counted as a whole is unknown, and not what a part of it is.
    counted: before.counted || input.isFull ? { storedBytes, objectCount, countedAtMs } : null,
    listedUntilMs,
    ...((outcomes.length > 0 || before.listedObjectCount !== undefined) && {
      shardsListedUntilMs,
      ...(shardLists && { shardLists }),
      listedObjectCount: objectCount - giantObjects,
    }),
    claimCorrection: claimCount - before.claimCount,
    claimsCounted: claimCount,
    overtakenEpoch: overtakenEpochOf(before),
    repoCount: input.repoCount,
    ...(late && { late }),
    fullCountedAtMs: input.isFull ? listedAtMs : null,
    reservedUntilMs,
    expiredNotes: expiredNotes(deps.settings, before, scanBeganMs),
    dueAtMs: nextDueMs(deps, input),
    lookAtMs: nextLookMs(deps, input),
  });
}

/** What was counted in these repos and may be gone: a delete under way may already have removed what the scan still saw. */
function unsureBytes(
  { before, giants }: Pick<CommitTenantInput, 'before' | 'giants'>,
  isOf: (repo: string) => boolean,
): number {
  const noted = [...before.notes.values()].map(({ repo, bytes }) => ({ repo, bytes }));
  const doubted = giants.outcomes.map(({ repo, doubtBytes: bytes }) => ({ repo, bytes }));
  return [...noted, ...doubted].reduce((sum, { repo, bytes }) => (isOf(repo) ? sum + bytes : sum), 0);
}

function limitCommits(input: CommitTenantInput): Map<string, LimitCommit> {
  const { before, recomputedLimited } = input;
  return new Map(
    [...before.repoLimits].flatMap(([repo, { limitBytes, counted }]): [string, LimitCommit][] => {
      const found = recomputedLimited.get(repo);
      if (!found) return [];
      const unsure = unsureBytes(input, (name) => name === repo);
      const commit = {
        limitBytes,
        correctionBytes: found.totalBytes - (counted?.committedBytes ?? 0),
        storedBytes: found.storedBytes,
        floorBaseBytes: found.leastBytes - unsure,
        floorUntilMs: found.leastUntilMs,
        ...(found.late && { late: found.late }),
      };
      return [[repo, commit]];
    }),
  );
}

/** When the schedule is to look for uploads that were under way, or to scan shards. null: neither. */
function nextLookMs({ settings }: Pick<Deps, 'settings'>, input: CommitTenantInput): number | null {
  const { before, snapshot, recomputed, listedUntilMs, giants } = input;
  const { newestUploadMs } = recomputed;
  const { countedAtMs } = snapshot;
  const listedMs = Math.max(0, listedUntilMs - Math.max(before.listedUntilMs, countedAtMs));
  const uploadsAtMs =
    newestUploadMs === null
      ? null
      : lookAgainAtMs(settings, { newestUploadMs, countedAtMs, listedMs, listedUntilMs });
  if (giants.nextDueAtMs === null) return uploadsAtMs;
  // The schedule takes what becomes due, so it is not now or before.
  const restMs = Math.max(settings.recountRestMs, shardsRestMs);
  const shardsAtMs = Math.max(giants.nextDueAtMs, snapshot.scanBeganMs + restMs);
  return Math.min(uploadsAtMs ?? shardsAtMs, shardsAtMs);
}

/** When the schedule is to count the tenant in full next. */
function nextDueMs({ settings }: Pick<Deps, 'settings'>, input: CommitTenantInput): number {
  const { before, epoch, isFull, snapshot, recomputed, listedUntilMs } = input;
  const { countedAtMs, repos, reservations } = snapshot;
  // A closed tenant stays due from its closing until it is empty, whoever counts it in between.
  if (before.closedAtMs !== null && recomputed.objectCount > 0) return before.dueAtMs;
  const due = { tenant: before.tenant, epoch, countedAtMs, listedUntilMs };
  if (isFull) {
    const isIdle = isUnchanged({ before, recomputed, repos, reservations });
    const unchangedForMs = before.counted && isIdle ? countedAtMs - before.counted.countedAtMs : 0;
    return dueAfterFullMs(settings, { ...due, unchangedForMs });
  }
  return dueAfterActivityMs(settings, { ...due, dueAtMs: before.dueAtMs });
}
