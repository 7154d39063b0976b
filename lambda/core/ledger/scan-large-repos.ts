import { allPages, mapLimited } from '../rules/async.ts';
import { nextMonthMs } from '../rules/dates.ts';
import { objectKey } from '../rules/names.ts';
import type { CoreDeps } from './core-deps.ts';
import type { Deletion } from './rules/deletion.ts';
import { type EndedRun, LargeRepoScan } from './rules/large-repo-scan.ts';
import { chargedForShards, type ShardCharge } from './rules/reconcile-policy.ts';
import { RepoReservations, type RepoScan } from './rules/repo-reservations.ts';
import { deletedByMs, sumEntries } from './rules/reservation.ts';
import {
  partsOf,
  planShards,
  type Shard,
  shardsInForce,
  sizeClassOf,
  unscannedShard,
} from './rules/shard.ts';
import {
  isChangeUnknown,
  isOnHold,
  isProvenOfFiles,
  type LargeRepo,
  listsOfMonth,
  type RepoPath,
  type RepoRecord,
  type ScanProgress,
  type TenantRecord,
} from './rules/tenant.ts';
import { ShardScanner } from './shard-scanner.ts';
import { type Lease, type LedgerSnapshot, renewOrThrow, SupersededError } from './snapshot.ts';

type ScanLargeRepoDeps = Pick<CoreDeps, 'ledger' | 'store' | 'scan' | 'clock' | 'settings'>;

/** HEAD requests for claimed objects in one reconcile, at most. The others stay claimed until the next. */
const headsMax = 5000;
const headsAtOnce = 64;
/** After a shard could not be scanned. */
const scanAgainAfterMs = 10_000;

interface ScanLargeRepoInput {
  readonly tenant: string;
  /** The tenant as the reconcile found it. */
  readonly before: TenantRecord;
  readonly record: RepoRecord;
  readonly epoch: number;
  readonly snapshot: LedgerSnapshot;
  /** The oids of a batch that waits for the outcome, although its reservation is left out. */
  readonly awaitedOids: ReadonlySet<string>;
  /** Of files: names at which there are empty objects, or may be. */
  readonly emptied: ReadonlySet<string> | undefined;
  /** Count all shards again, from now on. */
  readonly isThorough: boolean;
  /** LIST requests that may be made for shards. */
  readonly listsMax: number;
  readonly deadlineMs?: number;
  readonly lease: Lease;
}

/** What a reconcile found of a large repo, before anything is written. */
export interface LargeRepoOutcome {
  readonly repo: string;
  /** undefined: its initial scan goes on. Until it ends, the numbers of its last count hold. */
  readonly scan: RepoScan | undefined;
  readonly large: LargeRepo;
  readonly count: LargeRepoScan;
  /** Every change before this is counted. */
  readonly scannedAtMs: number;
  /** Every change around the API before this is counted. */
  readonly listedAtMs: number;
  /** By how much the sums may be too high, because of deletes. */
  readonly doubtBytes: number;
  /** Runs that are taken off the count once the shards are written. */
  readonly runs: readonly { readonly deletionId: string; readonly runMs: number }[];
  /** A change of which no record tells what it was, and of which the shards know now. null: there is none. */
  readonly dirtyTokenTaken: string | null;
  /**
   * LIST requests that were made for shards. They are not charged to the tenant's budget. The HEADs are charged to nobody: a
   * client that asks again and again would else keep the shards from being scanned that its answer needs.
   */
  readonly shardLists: number;
  readonly nextDueAtMs: number;
}

/**
 * Counts a large repo without listing it: the sums of its shards, corrected by what was deleted, and by what the store
 * says of each object that is claimed and not counted yet. A few shards that are due are scanned.
 *
 * A repo that becomes a large repo gets shards that are to be scanned. The next reconciles scan some each, as many as they can,
 * and keep them. Once all have been scanned, their sums replace the numbers of its last count.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError | SupersededError}
 */
async function scanLargeRepo(deps: ScanLargeRepoDeps, input: ScanLargeRepoInput): Promise<LargeRepoOutcome> {
  const { tenant, record, snapshot } = input;
  const { repo, large: before } = record;
  const { scannedAtMs } = snapshot;
  if (!before) return startInitialScan(deps, input);
  const reservations = snapshot.reservations.get(repo) ?? new RepoReservations();
  // After the reservations: whoever pushes a deleted object again finds its deletion first.
  const deletions = await allPages(deps.ledger.deletionsOf({ tenant, repo }));
  const runs = endedRuns(deletions);
  const claimed = new Set([...reservations.oids(), ...input.awaitedOids]);
  const scanner = new ShardScanner(deps, { ...input, repo, claimed });
  const count = await readShards(deps, { ...input, large: before, runs });
  const planned = largeAfter(input, { count, large: before });
  const isPaused = record.scanPausedAtMs !== undefined;
  const isScanned = isPaused || (await scanner.scanDue(count, planned));
  const { isInitialScan, progress: _, ...settled } = planned;
  const goesOn = isInitialScan === true && !count.isComplete;
  const large: LargeRepo = {
    ...settled,
    ...(goesOn && { isInitialScan: true }),
    ...progressOf({ before, planned, count, scannedAtMs, lists: scanner.requests }),
  };

  applyChanges(deps, { ...input, count, deletions, runs, reservations });
  if (input.emptied && scanner.requests > 0) await doubtEmptied(deps, { ...input, repo, count });

  const underWay = deletions.filter(({ state }) => state === 'deleting');
  const going = new Set(underWay.flatMap(namesOf));
  const unknown = goesOn
    ? new Set<string>()
    : await askForClaimed(deps, { ...input, count, reservations, going });
  count.tidy({ claimed, scannedAtMs });

  const nextDueMs = () =>
    isScanned && unknown.size === 0
      ? planShards(deps.settings, { shards: count.shards, large, nowMs: scannedAtMs, listsMax: 0 })
          .nextDueAtMs
      : scannedAtMs + Math.max(scanAgainAfterMs, deps.settings.reconcileRestMs);
  const totals = count.totals();
  const listedAtMs = count.shards.reduce((ms, shard) => Math.min(ms, shard.scannedAtMs), scannedAtMs);
  const goingBytes = underWay.reduce((sum, { objects }) => sum + sumEntries(objects), 0);
  return {
    repo,
    ...(goesOn
      ? numbersBefore(input)
      : {
          scan: {
            ...totals,
            seen: { has: (oid: string) => count.isCounted(oid) },
            large: { unknown, going },
          },
          scannedAtMs: Math.min(
            scannedAtMs,
            totals.staleFromMs ?? scannedAtMs,
            // They may have arrived as soon as they were claimed.
            reservations.oldestEntryMs(unknown) ?? scannedAtMs,
            // A run that died may have deleted some, and it cannot have begun sooner.
            ...underWay.map(({ dueAtMs }) => dueAtMs),
          ),
          listedAtMs,
          doubtBytes: totals.doubtBytes + goingBytes,
        }),
    large,
    count,
    runs: runs.map(({ deletionId, runMs }) => ({ deletionId, runMs })),
    dirtyTokenTaken: goesOn && isChangeUnknown(record) ? record.dirtyToken : null,
    shardLists: scanner.requests,
    nextDueAtMs: isPaused ? Number.MAX_SAFE_INTEGER : nextDueMs(),
  };
}

/** Corrects the shards by what was deleted, and by what changed of which no record tells what it was. */
function applyChanges(
  { settings }: ScanLargeRepoDeps,
  input: ScanLargeRepoInput & {
    count: LargeRepoScan;
    deletions: readonly Deletion[];
    runs: readonly EndedRun[];
    reservations: RepoReservations;
  },
): void {
  const { record, snapshot, awaitedOids, count, deletions, runs, reservations } = input;
  const severalTimes = namedSeveralTimes(deletions);
  for (const run of runs) {
    // The run's own unconfirmed reservation says that an object may come again, not that it was never counted.
    const others = reservations.oidsBeside(deletedByMs(run.runMs, settings.clockSkewMs));
    count.removed(run, {
      isClaimed: (oid) => others.has(oid) || awaitedOids.has(oid),
      isUncertain: (name) => severalTimes.has(name),
    });
  }
  // Each delete through the API makes an S3 event too. With `storeEvents`, it makes every shard stale that wasn't
  // scanned since.
  for (const change of reservations.namelessChanges()) count.doubted(change);
  if (!isChangeUnknown(record)) return;
  const { scannedAtMs: untilMs } = snapshot;
  // It happened before the token was read, and so before the scans of this reconcile.
  count.doubted({ fromMs: record.scannedAtMs, untilMs, isBeforeScans: true });
}

/** What was taken for a file because its record is newer than the scan: nothing else tells when it goes. */
async function doubtEmptied(
  { ledger, clock }: ScanLargeRepoDeps,
  input: RepoPath & Pick<ScanLargeRepoInput, 'emptied' | 'snapshot'> & { count: LargeRepoScan },
): Promise<void> {
  const { emptied = new Set(), snapshot, count } = input;
  const records = await allPages(ledger.emptied(input));
  const names = records.flatMap((record) => record.names).filter((name) => !emptied.has(name));
  if (names.length === 0) return;
  const times = { runMs: 0, beganMs: snapshot.scannedAtMs, endedMs: clock.nowMs() };
  const objects = new Map(names.map((name) => [name, { sizeBytes: 0, lastModifiedMs: null }]));
  count.removed({ ...times, runId: '', objects }, { isClaimed: () => true });
}

/** How far a count of all shards is, if there is one under way. */
function progressOf(input: {
  before: LargeRepo;
  planned: LargeRepo;
  count: LargeRepoScan;
  scannedAtMs: number;
  lists: number;
}): { progress?: ScanProgress } {
  const { before, planned, count, scannedAtMs, lists } = input;
  if (!planned.isInitialScan && planned.rescanFromMs === 0) return {};
  const { share, objectCount } = count.scannedSince(planned.rescanFromMs);
  if (share >= 1) return {};
  const isSame = before.rescanFromMs === planned.rescanFromMs && before.progress !== undefined;
  const { beganMs = scannedAtMs, listRequests = 0 } = isSame ? before.progress : {};
  return {
    progress: { beganMs, atMs: scannedAtMs, share, objectCount, listRequests: listRequests + lists },
  };
}

/**
 * Marks a repo as a large repo, once it has shards. From then on, deletes leave records of what they remove.
 *
 * The mark comes before the first scan of a shard for a second reason. A shard that waits for its scan has an item, and
 * deletes change it. So a reconcile that was overtaken can't write an old scan over it.
 */
async function startInitialScan(
  deps: ScanLargeRepoDeps,
  input: ScanLargeRepoInput,
): Promise<LargeRepoOutcome> {
  const { tenant, record, epoch, snapshot, lease } = input;
  const { repo, dirtyToken } = record;
  const places = isProvenOfFiles(record) ? [{ prefix: '', after: null }] : partsOf({ prefix: '' });
  const shards = places.map((place) => unscannedShard(place, epoch));
  for (const shard of shards) {
    await renewOrThrow(lease);
    if ((await deps.ledger.putShard({ tenant, repo, shard, epochRead: null })) === 'superseded')
      throw new SupersededError();
  }
  if ((await deps.ledger.startLargeRepo({ tenant, repo, epoch })) === 'superseded')
    throw new SupersededError();
  return {
    repo,
    ...numbersBefore(input),
    large: { sinceEpoch: epoch, rescanFromMs: 0, isInitialScan: true },
    count: new LargeRepoScan({ epoch, shards, runs: [], settings: deps.settings }),
    runs: [],
    // Every scan of a shard begins later.
    dirtyTokenTaken: dirtyToken,
    shardLists: 0,
    nextDueAtMs: snapshot.scannedAtMs,
  };
}

/**
 * While an initial scan goes on, the repo's item says what its last count found. Deletes since then may be counted. So
 * all of it is in doubt: the confirmed usage doesn't rely on a count that deletes may have made wrong.
 */
function numbersBefore({ record, snapshot }: ScanLargeRepoInput) {
  const { epoch, storedBytes, scannedAtMs } = record;
  return {
    scan: undefined,
    scannedAtMs: epoch > 0 ? scannedAtMs : snapshot.scannedAtMs,
    listedAtMs: 0,
    doubtBytes: storedBytes,
  };
}

function namesOf({ objects }: Deletion): string[] {
  return [...objects.keys()];
}

function endedRuns(deletions: readonly Deletion[]): (EndedRun & { deletionId: string })[] {
  return deletions.flatMap(({ id, removal }) =>
    removal ? [{ ...removal, deletionId: id, runId: `${id}:${removal.runMs}` }] : [],
  );
}

/** Objects that several deletions have removed, or are about to. Each of them may have found the object. */
function namedSeveralTimes(deletions: readonly Deletion[]): Set<string> {
  const named = new Set<string>();
  const several = new Set<string>();
  for (const { state, objects, removal } of deletions) {
    const names = new Set([
      ...(state === 'deleting' ? objects.keys() : []),
      ...(removal?.objects.keys() ?? []),
    ]);
    for (const name of names) {
      if (named.has(name)) several.add(name);
      named.add(name);
    }
  }
  return several;
}

/** @throws {LedgerUnavailableError | SupersededError} */
async function readShards(
  { ledger, settings }: ScanLargeRepoDeps,
  input: ScanLargeRepoInput & { large: LargeRepo; runs: readonly EndedRun[] },
): Promise<LargeRepoScan> {
  const { tenant, record, epoch, large, runs } = input;
  const items: Shard[] = [];
  for await (const page of ledger.shards({ tenant, repo: record.repo })) {
    items.push(...page);
    await renewOrThrow(input.lease);
  }
  const { inForce: shards, replaced } = shardsInForce(items, large);
  for (const { prefix, epoch: epochRead } of replaced) {
    const path = { tenant, repo: record.repo, prefix };
    if ((await ledger.removeShard({ ...path, epochRead })) === 'superseded') throw new SupersededError();
  }
  return new LargeRepoScan({ epoch, shards, runs, settings, isOfFiles: isProvenOfFiles(record) });
}

function largeAfter(
  input: ScanLargeRepoInput,
  { count, large }: { count: LargeRepoScan; large: LargeRepo },
): LargeRepo {
  const { sinceEpoch } = large;
  const { scanCancelledAtMs = 0 } = input.record;
  const rescanFromMs = large.rescanFromMs > scanCancelledAtMs ? large.rescanFromMs : 0;
  // A round that is under way is overtaken. The shards that were counted longest ago are scanned first, so each has its
  // turn, however often somebody asks. An initial scan is all that is asked for.
  const { scannedAtMs } = input.snapshot;
  const { uploadsFromMs = 0 } = input.before;
  // What the shards know is older than the bucket, until all of them are counted once that can be right.
  const isBehind = isOnHold(input.before) && scannedAtMs > uploadsFromMs && rescanFromMs <= uploadsFromMs;
  const fromMs = isBehind || (input.isThorough && count.isComplete) ? scannedAtMs : rescanFromMs;
  return { sinceEpoch, rescanFromMs: fromMs, ...(large.isInitialScan && { isInitialScan: true }) };
}

/**
 * Asks the store for each object that is claimed and not counted.
 *
 * @returns the oids of which nobody knows whether they have arrived.
 */
async function askForClaimed(
  { store, clock }: ScanLargeRepoDeps,
  input: ScanLargeRepoInput & {
    count: LargeRepoScan;
    reservations: RepoReservations;
    going: ReadonlySet<string>;
  },
): Promise<ReadonlySet<string>> {
  const { tenant, record, count, snapshot, going, lease } = input;
  const isAnswered = (oid: string) => count.isCounted(oid) || going.has(oid);
  const wanted = input.reservations.toAsk({
    nowMs: snapshot.scanBeganMs,
    isCounted: isAnswered,
    isOfFiles: isProvenOfFiles(record),
  });
  for (const oid of input.awaitedOids)
    if (!isAnswered(oid) && !wanted.has(oid)) wanted.set(oid, snapshot.scanBeganMs);
  const oids = [...wanted].slice(0, headsMax);
  const unknown = new Set([...wanted.keys()].slice(headsMax));
  await mapLimited(oids, headsAtOnce, async ([oid, claimedSinceMs]) => {
    const stored = await store.head(objectKey({ tenant, repo: record.repo, oid }));
    const { sizeBytes = 0, lastModifiedMs = null, mark } = stored ?? {};
    const found = { oid, sizeBytes, lastModifiedMs, claimedSinceMs, foundAtMs: clock.nowMs() };
    if (mark !== undefined) count.foundEmptied(oid);
    else if (stored && !count.found(found)) unknown.add(oid);
    await renewOrThrow(lease);
  });
  for (const oid of going) if (!count.isCounted(oid)) unknown.add(oid);
  return unknown;
}

/** How far the rate of LIST requests for shards may be overdrawn when a reconcile begins. */
const shardsOverdraftMs = 60_000;

/** Repos that a reconcile counts by shards. */
interface LargeRepos {
  readonly records: readonly RepoRecord[];
  readonly names: ReadonlySet<string>;
  /** Those that are large repos no longer. They are listed as a whole. */
  readonly former: readonly string[];
}

/** All large repos of a tenant. */
export interface LargeReposOutcome extends ShardCharge {
  readonly outcomes: readonly LargeRepoOutcome[];
  /** When shards are to be scanned next. null: there are none. */
  readonly nextDueAtMs: number | null;
}

/**
 * The large repos, and those that become one: somebody pointed to them, so they would be listed anyway. While
 * somebody waits, none does.
 */
export function selectLargeRepos(
  { settings }: Pick<CoreDeps, 'settings'>,
  input: { repos: readonly RepoRecord[]; due: ReadonlySet<string>; isFull: boolean; isAwaited: boolean },
): LargeRepos {
  const { due, isFull, isAwaited } = input;
  const records = input.repos.filter((record) => {
    const isLarge = sizeClassOf(settings, record) === 'large';
    if (isAwaited) return record.large !== undefined;
    return record.large ? isLarge : isLarge && (isFull || due.has(record.repo));
  });
  const names = new Set(records.map(({ repo }) => repo));
  const former = input.repos.filter(({ repo, large }) => large && !names.has(repo));
  return { records, names, former: former.map(({ repo }) => repo) };
}

/**
 * Counts the large repos one after the other.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError | SupersededError}
 */
export async function scanLargeRepos(
  deps: Pick<CoreDeps, 'ledger' | 'store' | 'scan' | 'clock' | 'log' | 'settings'>,
  input: Omit<ScanLargeRepoInput, 'tenant' | 'record' | 'listsMax' | 'awaitedOids' | 'emptied'> & {
    /** Repo → names. */
    emptied: ReadonlyMap<string, ReadonlySet<string>>;
    largeRepos: readonly RepoRecord[];
    isAwaited: boolean;
    awaitedOidsOf: (repo: string) => ReadonlySet<string>;
  },
): Promise<LargeReposOutcome> {
  const { largeRepos, before, isAwaited, snapshot } = input;
  const paidUntilMs = before.shardsListedUntilMs ?? 0;
  const mayList = !isAwaited && paidUntilMs <= snapshot.scannedAtMs + shardsOverdraftMs;
  const outcomes: LargeRepoOutcome[] = [];
  const { shardListsPerRun, shardListsPerMonth } = deps.settings;
  const earlier = listsOfMonth(before.shardLists, snapshot.scannedAtMs);
  const leftOfMonth = Math.max(0, shardListsPerMonth - earlier.requests);
  let left = mayList ? Math.min(shardListsPerRun, leftOfMonth) : 0;
  for (const record of largeRepos) {
    const outcome = await scanLargeRepo(deps, {
      ...input,
      tenant: before.tenant,
      record,
      listsMax: left,
      emptied: isProvenOfFiles(record) ? (input.emptied.get(record.repo) ?? new Set()) : undefined,
      awaitedOids: input.awaitedOidsOf(record.repo),
    });
    left = Math.max(0, left - outcome.shardLists);
    outcomes.push(outcome);
  }
  const requests = outcomes.reduce((sum, { shardLists }) => sum + shardLists, 0);
  const charge = chargedForShards(deps.settings, { before, requests, nowMs: snapshot.scannedAtMs });
  const requestsOfMonth = earlier.requests + requests;
  const isMonthOver = requestsOfMonth >= shardListsPerMonth;
  if (isMonthOver && requests > 0)
    deps.log.warn('the LIST requests of the month for shards are used up', {
      tenant: before.tenant,
      requests: requestsOfMonth,
    });
  const dueAtMs = Math.min(...outcomes.map(({ nextDueAtMs }) => nextDueAtMs), Number.MAX_SAFE_INTEGER);
  const isNever = dueAtMs === Number.MAX_SAFE_INTEGER;
  const affordableAtMs = isMonthOver ? nextMonthMs(snapshot.scannedAtMs) : 0;
  return {
    outcomes,
    ...charge,
    nextDueAtMs: isNever
      ? null
      : Math.max(dueAtMs, affordableAtMs, charge.shardsListedUntilMs - shardsOverdraftMs),
  };
}
