import * as z from 'zod';
import { dayAfter, dayOf, daysBetween, monthOf } from '../../rules/dates.ts';
import { type Frozen, mapOf, nullable } from '../../rules/stored.ts';
import { watchSchema } from './watch.ts';

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
const shardLists = z.object({
  /** `2026-11`, in UTC. */
  month: z.string(),
  requests: z.number(),
});
export type ShardLists = Frozen<z.output<typeof shardLists>>;

/** Those of the month of `nowMs`: none yet if the last ones were made in another. */
export function listsOfMonth(earlier: ShardLists | undefined, nowMs: number): ShardLists {
  const month = monthOf(nowMs);
  return earlier?.month === month ? earlier : { month, requests: 0 };
}

/** What the ledger knows about a tenant and its repos, as it is stored. */

const bytes = z.number().int();

/** A delete under way. Its bytes are taken off the confirmed usage before they are deleted from the bucket. */
const deleteIntent = z.object({
  repo: z.string(),
  bytes,
  /** The deleter deletes no bytes after this. A note that is older belongs to a delete that died. */
  deadlineMs: z.number(),
});
export type DeleteIntent = Frozen<z.output<typeof deleteIntent>>;

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
const unconfirmedLoad = z.object({
  /** All that is late, whoever claimed it. */
  bytes,
  /** Who has claimed more than a tenth of the limit of it → until when. The {@link unconfirmedMakersMax} who have most. */
  makers: mapOf(z.number()),
  /** Who has more than {@link crowdedEntries} entries, live and unconfirmed, that have not arrived → until when. Absent: no one. */
  crowd: mapOf(z.number()).optional(),
});
export type UnconfirmedLoad = Frozen<z.output<typeof unconfirmedLoad>>;

/** Those that are kept: they have a tenth of the limit each, and are in the item that each batch writes. */
export const unconfirmedMakersMax = 10;

/** What the ledger knows of a repo that has a limit. */
export const scannedLimit = z.object({
  /** Of this repo alone. */
  unconfirmed: unconfirmedLoad.optional(),
  /** The repo's own atomic counter. Never below what the repo really takes up. */
  committedBytes: bytes,
  /** Found by the last reconcile. */
  storedBytes: bytes,
  /** The confirmed usage in force is this minus the tenant's `deletedBytes`, until `confirmedUntilMs`. */
  confirmedBaseBytes: bytes,
  confirmedUntilMs: z.number(),
});
export type ScannedLimit = Frozen<z.output<typeof scannedLimit>>;

/**
 * Repos of a tenant that have a limit, at most: they are in its item, which each batch writes. A limit takes about 120
 * bytes, so eight of them make a batch one write unit dearer.
 */
export const repoLimitsMax = 50;

/** What a tenant's item has as its {@link TenantRecord} has it. */
export const tenantFields = z.object({
  tenant: z.string(),
  plan: nullable(z.string()),
  /** null: unlimited. */
  limitBytes: nullable(bytes),
  /** Bytes that may be offered for download in a month (UTC). null: unlimited. */
  downloadLimitBytes: nullable(bytes),
  /** Whether a repo has to be created before it takes a push. Otherwise the first push makes it. */
  reposMustExist: z.boolean().default(false),
  /** Of what is uploaded from now on: see `StorageClass`. null: the bucket's own. */
  storageClass: nullable(z.string()),
  /** What the operator stopped: uploads alone, or all that its users do. */
  suspended: nullable(z.enum(['pushes', 'all'])),
  /** What its users are told of that. */
  suspendedMessage: nullable(z.string()),
  createdAtMs: z.number(),
  /**
   * How often its limits, those of its repos, and its plan were changed. A change names the version that it was made
   * over, so one that lands late undoes no later one.
   */
  settingsVersion: z.number().default(0),
  /** The atomic counter. Never below what the tenant really takes up. */
  committedBytes: bytes,
  /** Each reconcile takes the next epoch, and so does closing the tenant. Only the newest epoch may commit. */
  epoch: z.number(),
  /** Epoch of the last reconcile that was committed. */
  appliedEpoch: z.number(),
  /** The newest epoch that was taken and not applied: see {@link overtakenEpochOf}. */
  overtakenEpoch: z.number().default(0),
  /** The confirmed usage in force is `confirmedBaseBytes − deletedBytes`, until `confirmedUntilMs`. */
  confirmedBaseBytes: bytes,
  confirmedUntilMs: z.number(),
  /** Sum of the bytes of the deletes that were announced since the confirmed usage was found. A commit takes off what it read. */
  deletedBytes: bytes,
  /** Note id → a delete under way. */
  intents: mapOf(deleteIntent),
  /** Of the objects counted, those that a reconcile lists: without large repos. Absent: there are none. */
  listedObjectCount: z.number().optional(),
  /** When every repo was last listed. The counts of all repos include every change before this. */
  fullScannedAtMs: z.number().default(0),
  /**
   * When what is stored was counted, if that is after `scannedAtMs`: the oldest of what a large repo's shards found. It never goes
   * back.
   */
  stepAtMs: z.number().optional(),
  /** What had been stored for over a year then. Absent: not known. */
  oldBytes: bytes.optional(),
  /** Until then a running reconcile holds the lease. A time in the past: nobody holds it. */
  leaseUntilMs: z.number(),
  /** Until then the LIST requests so far use up the tenant's budget: docs/how-it-works.md, "A reconcile". */
  listedUntilMs: z.number().default(0),
  /** The same for the shards of large repos, whose scans have a rate of their own. */
  shardsListedUntilMs: z.number().optional(),
  /** How many LIST requests those scans have made this month. Absent: none ever. */
  shardLists: shardLists.optional(),
  /**
   * Reservations and their entries: those that the last reconcile read, and those admitted since. It tells what the next
   * one has to read and hold. At most {@link tenantEntriesMax}.
   */
  entryCount: z.number().default(0),
  /** Of these, what the last reconcile read. Absent: an older version counted it last. */
  entriesCounted: z.number().optional(),
  /** Deletions, whatever their state: what the last run left, and what was marked since. It may be wrong until the next run. */
  deletionCount: z.number().default(0),
  /** Items of repos, as of the last reconcile. */
  repoCount: z.number().default(0),
  unconfirmed: unconfirmedLoad.optional(),
  /**
   * When the last upload that was promised by the last reconcile can no longer arrive. Uploads that were admitted since
   * end later. null: nothing was promised.
   */
  reservedUntilMs: nullable(z.number()),
  /**
   * When the schedule is to count what may have changed, because uploads were under way, or shards are to be scanned.
   * null: neither.
   */
  lookAtMs: nullable(z.number()),
  /** Set when the tenant is being deleted. It takes no more batches. */
  closedAtMs: nullable(z.number()),
  /** Set on a tenant whose items were restored: see {@link isOnHold}. */
  uploadsFromMs: z.number().optional(),
});

/** The tenant's item. It holds the counter that every admission adds to. */
export interface TenantRecord extends Frozen<z.output<typeof tenantFields>> {
  /** Repo → its limit. Most repos have none of their own. */
  readonly repoLimits: ReadonlyMap<string, RepoLimit>;
  /** null: never counted, which is not zero. */
  readonly scanned: Scanned | null;
  /** An older version counted it last. Some of its deletions may have keys by which they aren't found, until they are read. */
  readonly mayHaveOlderKeys?: boolean | undefined;
  /** When the schedule is to count the tenant in full next. */
  readonly dueAtMs: number;
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

/** How far a count of all shards of a large repo is, as the last reconcile left it. */
const scanProgress = z.object({
  beganMs: z.number(),
  atMs: z.number(),
  /** Share of the names that are counted, from 0 to 1. Hashes are spread evenly, so it is that of the objects too. */
  share: z.number(),
  /** Objects that it has counted. */
  objectCount: z.number(),
  /** LIST requests that it has made. */
  listRequests: z.number(),
});
export type ScanProgress = Frozen<z.output<typeof scanProgress>>;

/** What the ledger knows of a large repo beside its shards: docs/how-it-works.md, "Large repos". */
const largeRepo = z.object({
  /** Shards of older epochs are left over from when it was a large repo before. */
  sinceEpoch: z.number(),
  /** Shards that were counted before this are to be scanned. */
  rescanFromMs: z.number(),
  /**
   * Set until every shard has been scanned once, which may take many reconciles. Until then the repo's numbers are
   * those from before it became a large repo.
   */
  isInitialScan: z.literal(true).optional(),
  /** Set while all shards are being counted: for the first time, or because somebody asked for it. */
  progress: scanProgress.optional(),
});
export type LargeRepo = Frozen<z.output<typeof largeRepo>>;

/** What the ledger knows about one repo. */
export const repoSchema = z.object({
  storedBytes: bytes,
  objectCount: z.number(),
  /** The count includes every change before this. Later changes may be missing. */
  scannedAtMs: z.number(),
  repo: z.string(),
  /** Epoch of the scan that found these values. 0: never scanned. */
  epoch: z.number(),
  /** Set by a delete: the last scan may have seen what it deleted. A scan clears only the token that it read. */
  dirtyToken: nullable(z.string()),
  /** Ids of reservations that need no further scan: {@link coveredBy}. */
  covered: z.array(z.string()).transform((ids): ReadonlySet<string> => new Set(ids)),
  /**
   * Until then a PUT may end whose URL is of a reservation that the ledger has no more, because a scan saw all of its
   * objects. 0: there was none.
   */
  putsUntilMs: z.number().default(0),
  /** Set while the repo is being deleted. It takes no batches until it is empty. */
  closedAtMs: nullable(z.number()),
  /** What was stored on some earlier days, the oldest first, so that growth can be told. Nothing is decided by it. */
  points: z.string().transform(pointsIn).optional(),
  /** When somebody created it. Without that it is there only while something is stored in it. */
  createdAtMs: z.number().optional(),
  /**
   * `files`: its objects have names of any kind, and each is put once: a URL stores nothing where something is. Absent: their
   * names are oids. It ends with the delete of the repo.
   */
  kind: z.literal('files').optional(),
  /** Set on one of files until it's known that no push of before has a URL of Git LFS, which would replace files. */
  isUnproven: z.literal(true).optional(),
  /** Set while it is being deleted and has nothing but empty objects, which go then. */
  emptyFromMs: z.number().optional(),
  /** The same as its tenant's, before which it goes. Absent: its tenant's. */
  storageClass: z.string().optional(),
  /** Set on a large repo: it is counted by shards, and the sums above are theirs. */
  large: largeRepo.optional(),
  /** Set on one that is a large repo no longer, until its shards are removed: those of older epochs than this. */
  tidyBelowEpoch: z.number().optional(),
  /** Set while the operator wants no shard of it to be scanned. */
  scanPausedAtMs: z.number().optional(),
  /** How often its count was paused, resumed or given up. Each of these names the version that it was made over. */
  steeringVersion: z.number().optional(),
  /**
   * When the repo was closed before it was opened again. That closing may be written once more, and would empty the repo
   * anew.
   */
  endedClosingMs: z.number().optional(),
  /** The operator gave up a reconcile that began before this. */
  scanCancelledAtMs: z.number().optional(),
  /** Set while batches note which objects they name, because a gc run is under way. */
  watch: watchSchema.optional(),
  /** When the last watch was opened that has ended. No watch opens that is not newer. */
  endedWatchMs: z.number().optional(),
});
export type RepoRecord = Frozen<z.output<typeof repoSchema>>;

/** What a scan found. */
export type Scanned = Pick<RepoRecord, 'storedBytes' | 'objectCount' | 'scannedAtMs'>;

/** What is not understood is left out: nothing is decided by it. */
function pointsIn(text: string): readonly StoredPoint[] {
  const found = text.matchAll(/(\d{4}-\d\d-\d\d) (\d+)/g);
  return [...found].map(([, day = '', stored]) => ({ day, storedBytes: Number(stored) }));
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

/** Whether a URL of the repo ends once something has its name, until the repo was deleted and nothing can come any more. */
export const isOfFiles = (repo: Pick<RepoRecord, 'kind'> | undefined) => repo?.kind === 'files';

/** The same once it's proven. Until then what was handed out may be URLs of Git LFS, which no empty object ends. */
export const isProvenOfFiles = (repo: Pick<RepoRecord, 'kind' | 'isUnproven'> | undefined) =>
  isOfFiles(repo) && repo?.isUnproven === undefined;

/** Whether a repo is for Git LFS until it's deleted: somebody created it, or a reconcile has seen all that a push claimed. */
export const isOfLfs = (repo: Pick<RepoRecord, 'kind' | 'createdAtMs' | 'putsUntilMs'> | undefined) =>
  repo !== undefined && !isOfFiles(repo) && (repo.createdAtMs !== undefined || repo.putsUntilMs > 0);

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
