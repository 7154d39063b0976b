import { dayAfter, dayOf, daysBetween, monthOf } from '../../rules/dates.ts';
import type { Watch } from './watch.ts';

/** What a repo stored at the end of a day (UTC). */
export interface StoredPoint {
  /** Such as `2026-11-21`. */
  readonly day: string;
  readonly storedBytes: number;
}

/** How long ago the point is that the present is compared with. */
const comparedDays = 30;

/** A point is kept only if the one before it is so much older: {@link StoredPoint}s are in the repo's own item. */
const stepDays = 7;

/** Points of a repo, at most: those of the last 30 days by {@link stepDays}, the one before, and the first of them. */
export const storedPointsMax = 7;

interface ScannedRepo {
  readonly storedBytes: number;
  readonly scannedAtMs: number;
}

/**
 * The points of a repo once it is counted anew. What was counted last on an earlier day was stored at the end of that
 * day, as far as is known: what changes is reconciled.
 *
 * @param before as it was last counted. undefined: never.
 */
export function pointsAfter(
  before: (ScannedRepo & { readonly points?: readonly StoredPoint[] | undefined }) | undefined,
  { scannedAtMs }: Pick<ScannedRepo, 'scannedAtMs'>,
): readonly StoredPoint[] {
  if (before === undefined) return [];
  const { points = [], storedBytes } = before;
  const [day, today] = [dayOf(before.scannedAtMs), dayOf(scannedAtMs)];
  const last = points.at(-1);
  const isKept = day < today && (last === undefined || daysBetween(last.day, day) >= stepDays);
  const all = isKept ? [...points, { day, storedBytes }] : points;
  const first = Math.max(0, indexOfCompared(all, today));
  return all.slice(Math.max(first, all.length - storedPointsMax));
}

/**
 * What the present is compared with: the newest point that is 30 days old or older. The oldest that is known, if all are
 * newer.
 *
 * @returns undefined if nothing is known from before today.
 */
export function pointBefore(
  repo: ScannedRepo & { readonly points?: readonly StoredPoint[] | undefined },
  today: string,
): StoredPoint | undefined {
  const day = dayOf(repo.scannedAtMs);
  // It was not counted again, as nothing has changed.
  const own = day < today ? [{ day, storedBytes: repo.storedBytes }] : [];
  const known = [...(repo.points ?? []), ...own];
  return known[Math.max(0, indexOfCompared(known, today))];
}

/** −1: all are newer. */
function indexOfCompared(points: readonly StoredPoint[], today: string): number {
  const from = dayAfter(today, -comparedDays);
  return points.findLastIndex(({ day }) => day <= from);
}

/** How many LIST requests a tenant's shards have taken in a month. */
export interface ShardLists {
  /** `2026-11`, in UTC. */
  readonly month: string;
  readonly requests: number;
}

/** Those of the month of `nowMs`: none yet if the last ones were made in another. */
export function listsOfMonth(earlier: ShardLists | undefined, nowMs: number): ShardLists {
  const month = monthOf(nowMs);
  return earlier?.month === month ? earlier : { month, requests: 0 };
}

/** What the ledger knows about a tenant and its repos. */

/** What a scan found. */
export interface Scanned {
  readonly storedBytes: number;
  readonly objectCount: number;
  /** The count includes every change before this. Later changes may be missing. */
  readonly scannedAtMs: number;
}

/** A delete under way. Its bytes are taken off the confirmed usage before they are deleted from the bucket. */
export interface DeleteIntent {
  readonly repo: string;
  readonly bytes: number;
  /** The deleter deletes no bytes after this. A note that is older belongs to a delete that died. */
  readonly deadlineMs: number;
}

/**
 * The limit of one repo. Such a repo is accounted for like a tenant of its own: it has a counter and a confirmed usage, which
 * change in the same writes as those of the tenant.
 */
export interface RepoLimit {
  readonly limitBytes: number;
  /** null: not counted since the limit was set. Until then nothing is admitted by it. */
  readonly scanned: ScannedLimit | null;
}

/**
 * Set while somebody has claimed more that is late than a tenth of the limit, or too many objects:
 * docs/how-it-works.md, "A reservation's life".
 */
export interface UnconfirmedLoad {
  /** All that is late, whoever claimed it. */
  readonly bytes: number;
  /** Who has claimed more than a tenth of the limit of it → until when. The {@link unconfirmedMakersMax} who have most. */
  readonly makers: ReadonlyMap<string, number>;
  /** Who has more than {@link crowdedEntries} entries, live and unconfirmed, that have not arrived → until when. Absent: no one. */
  readonly crowd?: ReadonlyMap<string, number> | undefined;
}

/** Those that are kept: they have a tenth of the limit each, and are in the item that each batch writes. */
export const unconfirmedMakersMax = 10;

/** What the ledger knows of a repo that has a limit. */
export interface ScannedLimit {
  /** Of this repo alone. */
  readonly unconfirmed?: UnconfirmedLoad | undefined;
  /** The repo's own atomic counter. Never below what the repo really takes up. */
  readonly committedBytes: number;
  /** Found by the last reconcile. */
  readonly storedBytes: number;
  /** The confirmed usage in force is this minus the tenant's `deletedBytes`, until `confirmedUntilMs`. */
  readonly confirmedBaseBytes: number;
  readonly confirmedUntilMs: number;
}

/**
 * Repos of a tenant that have a limit, at most: they are in its item, which each batch writes. A limit takes about 120
 * bytes, so eight of them make a batch one write unit dearer.
 */
export const repoLimitsMax = 50;

/** The tenant's item. It holds the counter that every admission adds to. */
export interface TenantRecord {
  readonly tenant: string;
  readonly plan: string | null;
  /** null: unlimited. */
  readonly limitBytes: number | null;
  /** Bytes that may be offered for download in a month (UTC). null: unlimited. */
  readonly downloadLimitBytes: number | null;
  /** Whether a repo has to be created before it takes a push. Otherwise the first push makes it. */
  readonly reposMustExist: boolean;
  /** Of what is uploaded from now on: see `StorageClass`. null: the bucket's own. */
  readonly storageClass: string | null;
  readonly createdAtMs: number;
  /**
   * How often its limits, those of its repos, and its plan were changed. A change names the version that it was made
   * over, so one that lands late undoes no later one.
   */
  readonly settingsVersion: number;
  /** The atomic counter. Never below what the tenant really takes up. */
  readonly committedBytes: number;
  /** Each reconcile takes the next epoch, and so does closing the tenant. Only the newest epoch may commit. */
  readonly epoch: number;
  /** Epoch of the last reconcile that was committed. */
  readonly appliedEpoch: number;
  /** The newest epoch that was taken and not applied: see {@link overtakenEpochOf}. */
  readonly overtakenEpoch: number;
  /** The confirmed usage in force is `confirmedBaseBytes − deletedBytes`, until `confirmedUntilMs`. */
  readonly confirmedBaseBytes: number;
  readonly confirmedUntilMs: number;
  /** Sum of the bytes of the deletes that were announced since the confirmed usage was found. A commit takes off what it read. */
  readonly deletedBytes: number;
  /** Note id → a delete under way. */
  readonly intents: ReadonlyMap<string, DeleteIntent>;
  /** Repo → its limit. Most repos have none of their own. */
  readonly repoLimits: ReadonlyMap<string, RepoLimit>;
  /** null: never counted, which is not zero. */
  readonly scanned: Scanned | null;
  /** Of the objects counted, those that a reconcile lists: without large repos. Absent: there are none. */
  readonly listedObjectCount?: number | undefined;
  /** When every repo was last listed. The counts of all repos include every change before this. */
  readonly fullScannedAtMs: number;
  /** What had been stored for over a year then. Absent: not known. */
  readonly oldBytes?: number | undefined;
  /** Until then a running reconcile holds the lease. A time in the past: nobody holds it. */
  readonly leaseUntilMs: number;
  /** Until then the LIST requests so far use up the tenant's budget: docs/how-it-works.md, "A reconcile". */
  readonly listedUntilMs: number;
  /** The same for the shards of large repos, whose scans have a rate of their own. */
  readonly shardsListedUntilMs?: number | undefined;
  /** How many LIST requests those scans have made this month. Absent: none ever. */
  readonly shardLists?: ShardLists | undefined;
  /**
   * Reservations and their entries: those that the last reconcile read, and those admitted since. It tells what the next
   * one has to read and hold. At most {@link tenantEntriesMax}.
   */
  readonly entryCount: number;
  /** Of these, what the last reconcile read. Absent: an older version counted it last. */
  readonly entriesCounted?: number | undefined;
  /** Deletions, whatever their state: what the last run left, and what was marked since. It may be wrong until the next run. */
  readonly deletionCount: number;
  /** An older version counted it last. Some of its deletions may have keys by which they aren't found, until they are read. */
  readonly mayHaveOlderKeys?: boolean | undefined;
  /** Items of repos, as of the last reconcile. */
  readonly repoCount: number;
  readonly unconfirmed?: UnconfirmedLoad | undefined;
  /**
   * When the last upload that was promised by the last reconcile can no longer arrive. Uploads that were admitted since
   * end later. null: nothing was promised.
   */
  readonly reservedUntilMs: number | null;
  /** When the schedule is to count the tenant in full next. */
  readonly dueAtMs: number;
  /**
   * When the schedule is to count what may have changed, because uploads were under way, or shards are to be scanned.
   * null: neither.
   */
  readonly lookAtMs: number | null;
  /** Set when the tenant is being deleted. It takes no more batches. */
  readonly closedAtMs: number | null;
  /** Set on a tenant whose items were restored: see {@link isOnHold}. */
  readonly uploadsFromMs?: number | undefined;
}

/**
 * Whether the tenant takes no uploads, because its items are older than the bucket. Until `uploadsFromMs`, uploads may land
 * of which nothing is reserved here. What a full count finds that began later is all that there can be.
 */
export function isOnHold({
  uploadsFromMs = 0,
  fullScannedAtMs,
}: Pick<TenantRecord, 'uploadsFromMs' | 'fullScannedAtMs'>): boolean {
  return uploadsFromMs > 0 && fullScannedAtMs <= uploadsFromMs;
}

/**
 * Reservations of a tenant and their entries, at most. A reconcile has to hold all of them. They end when they are lapsed,
 * and unconfirmed ones a day after that.
 */
export const tenantEntriesMax = 1_000_000;
/** Whoever has more entries that have not arrived gets no others: what one can hold is far from all of them. */
export const crowdedEntries = 100_000;
/** Claims from one reconcile to the next, at most: only a reconcile finds out who has too many. */
export const entriesBetweenMax = 250_000;

/** How many entries the tenant may have before the next reconcile. */
export function entriesMaxOf({ entryCount, entriesCounted = entryCount }: TenantRecord): number {
  return Math.min(tenantEntriesMax, entriesCounted + entriesBetweenMax);
}

/**
 * Repos of a tenant, at most: each reconcile reads the items of all of them. Beyond that no push or request makes another. What
 * somebody put into the bucket is counted all the same.
 */
export const reposMax = 100_000;

export interface RepoPath {
  readonly tenant: string;
  readonly repo: string;
}

/** What the ledger knows about one repo. */
export interface RepoRecord extends Scanned {
  readonly repo: string;
  /** Epoch of the scan that found these values. 0: never scanned. */
  readonly epoch: number;
  /** Set by a delete: the last scan may have seen what it deleted. A scan clears only the token that it read. */
  readonly dirtyToken: string | null;
  /** Ids of reservations that need no further scan: {@link coveredBy}. */
  readonly covered: ReadonlySet<string>;
  /**
   * Until then a PUT may end whose URL is of a reservation that the ledger has no more, because a scan saw all of its
   * objects. 0: there was none.
   */
  readonly putsUntilMs: number;
  /** Set while the repo is being deleted. It takes no batches until it is empty. */
  readonly closedAtMs: number | null;
  /** What was stored on some earlier days, the oldest first, so that growth can be told. Nothing is decided by it. */
  readonly points?: readonly StoredPoint[] | undefined;
  /** When somebody created it. Without that it is there only while something is stored in it. */
  readonly createdAtMs?: number | undefined;
  /** The same as its tenant's, before which it goes. Absent: its tenant's. */
  readonly storageClass?: string | undefined;
  /** Set on a large repo: it is counted by shards, and the sums above are theirs. */
  readonly large?: LargeRepo | undefined;
  /** Set on one that is a large repo no longer, until its shards are removed: those of older epochs than this. */
  readonly tidyBelowEpoch?: number | undefined;
  /** Set while the operator wants no shard of it to be scanned. */
  readonly scanPausedAtMs?: number | undefined;
  /** How often its count was paused, resumed or given up. Each of these names the version that it was made over. */
  readonly steeringVersion?: number | undefined;
  /**
   * When the repo was closed before it was opened again. That closing may be written once more, and would empty the repo
   * anew.
   */
  readonly endedClosingMs?: number | undefined;
  /** The operator gave up a reconcile that began before this. */
  readonly scanCancelledAtMs?: number | undefined;
  /** Set while batches note which objects they name, because a gc run is under way. */
  readonly watch?: Watch | undefined;
  /** When the last watch was opened that has ended. No watch opens that is not newer. */
  readonly endedWatchMs?: number | undefined;
}

/** A repo that no scan has counted. */
export function unknownRepo(repo: string): RepoRecord {
  const nothing = { storedBytes: 0, objectCount: 0, scannedAtMs: 0, epoch: 0, putsUntilMs: 0 };
  return { repo, ...nothing, dirtyToken: null, covered: new Set(), closedAtMs: null };
}

/** Whether a repo is there: somebody created it, or it has an object. */
export function isThere(repo: RepoRecord): boolean {
  return repo.createdAtMs !== undefined || (repo.epoch > 0 && repo.objectCount > 0);
}

/** No write lands so late. */
const lateWritesMs = 24 * 60 * 60_000;

/**
 * Whether nobody needs a repo's item: nothing is in the repo, nobody created it, and all that the item keeps away is over.
 * A reconcile that has read it doesn't make it again. A write of a closing, or of a reconcile that was before it, could, but
 * none lands a day late.
 */
export function isDisposable(repo: RepoRecord, nowMs: number): boolean {
  const { endedClosingMs = 0, endedWatchMs = 0 } = repo;
  const lastMs = Math.max(repo.scannedAtMs, repo.putsUntilMs, endedClosingMs, endedWatchMs);
  return (
    repo.epoch > 0 &&
    repo.objectCount === 0 &&
    repo.createdAtMs === undefined &&
    repo.storageClass === undefined &&
    repo.closedAtMs === null &&
    repo.dirtyToken === null &&
    repo.large === undefined &&
    repo.watch === undefined &&
    repo.tidyBelowEpoch === undefined &&
    nowMs > lastMs + lateWritesMs
  );
}

/** Begins the dirty token of a delete in a large repo, which leaves a record of what it removed. */
export const removalTokenStart = 'removed-';

/** @param input.random so that each delete has its own. @param input.isRecorded a record tells what was removed. */
export function dirtyTokenOf(input: { random: string; isRecorded: boolean }): string {
  return input.isRecorded ? removalTokenStart + input.random : input.random;
}

/** Whether a repo changed in a way of which no record tells what it was. */
export function isChangeUnknown({ dirtyToken }: Pick<RepoRecord, 'dirtyToken'>): boolean {
  return dirtyToken !== null && !dirtyToken.startsWith(removalTokenStart);
}

/** What the ledger knows of a large repo beside its shards: docs/how-it-works.md, "Large repos". */
export interface LargeRepo {
  /** Shards of older epochs are left over from when it was a large repo before. */
  readonly sinceEpoch: number;
  /** Shards that were counted before this are to be scanned. */
  readonly rescanFromMs: number;
  /**
   * Set until every shard has been scanned once, which may take many reconciles. Until then the repo's numbers are
   * those from before it became a large repo.
   */
  readonly isInitialScan?: true | undefined;
  /** Set while all shards are being counted: for the first time, or because somebody asked for it. */
  readonly progress?: ScanProgress | undefined;
}

/** How far a count of all shards of a large repo is, as the last reconcile left it. */
export interface ScanProgress {
  readonly beganMs: number;
  readonly atMs: number;
  /** Share of the names that are counted, from 0 to 1. Hashes are spread evenly, so it is that of the objects too. */
  readonly share: number;
  /** Objects that it has counted. */
  readonly objectCount: number;
  /** LIST requests that it has made. */
  readonly listRequests: number;
}

/**
 * The newest epoch before `epoch` whose reconcile may still write: it was overtaken or has failed, so its writes can
 * land late. A repo's item of this epoch or a later one refuses them.
 *
 * @param before the tenant right before the epoch was taken.
 */
export function overtakenEpochOf(before: TenantRecord): number {
  return before.appliedEpoch === before.epoch ? before.overtakenEpoch : before.epoch;
}

/**
 * True once nothing is left of a deleted tenant and nothing can arrive: a count that began after it was closed found
 * no objects, and no upload is promised. Its item stays, so that its name stays taken.
 */
export function isGone(tenant: TenantRecord): boolean {
  const { closedAtMs, scanned, committedBytes } = tenant;
  if (closedAtMs === null || scanned === null) return false;
  return scanned.scannedAtMs > closedAtMs && scanned.objectCount === 0 && committedBytes === 0;
}

/**
 * The confirmed usage: what the tenant takes up at least, in bytes. Only the confirmed usage can prove that an upload does not fit.
 *
 * @returns undefined if the tenant was never counted or its confirmed usage has expired.
 */
export function confirmedBytes(tenant: TenantRecord, nowMs: number): number | undefined {
  return tenant.scanned === null ? undefined : confirmedOf(tenant, { tenant, nowMs });
}

/** The same for a repo that has a limit. What was deleted from other repos may lower it, until the next reconcile. */
export function repoConfirmedBytes(
  tenant: TenantRecord,
  { limit, nowMs }: { limit: RepoLimit; nowMs: number },
): number | undefined {
  return limit.scanned === null ? undefined : confirmedOf(limit.scanned, { tenant, nowMs });
}

function confirmedOf(
  confirmed: Pick<ScannedLimit, 'confirmedBaseBytes' | 'confirmedUntilMs'>,
  { tenant, nowMs }: { tenant: TenantRecord; nowMs: number },
): number | undefined {
  if (nowMs >= confirmed.confirmedUntilMs) return undefined;
  return Math.max(0, confirmed.confirmedBaseBytes - tenant.deletedBytes);
}
