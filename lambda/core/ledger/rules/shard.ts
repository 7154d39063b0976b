import * as z from 'zod';
import { compareKeys } from '../../rules/names.ts';
import type { Settings } from '../../rules/settings.ts';
import { type Frozen, nullable } from '../../rules/stored.ts';
import type { KeyRange } from '../../scan/rules/key-space.ts';
import { pageKeysMax } from '../../store/rules/store.ts';
import type { LargeRepo, RepoRecord } from './tenant.ts';

const bytes = z.number().int();

/**
 * A part of a large repo: the names from where it begins to where the next one does, so every name belongs to exactly one shard.
 * It begins with its prefix. Names of files aren't spread over hex digits, so there each shard says where it begins, and the
 * digits only tell which shards are parts of which.
 *
 * What it holds is `storedBytes + sinceBytes`: what its last scan found, and what came and went since then.
 */
export const shardSchema = z.object({
  /** Hex digits. The empty prefix is all names. */
  prefix: z.string(),
  /** Of files: it has names after this one alone. null: from the first name. Absent: the prefix tells. */
  after: z.string().nullable().optional(),
  /** Epoch of the reconcile that wrote it last. */
  epoch: z.number(),
  /** Of the part of a split: the shard that was split, as it was read. null: it is no part, or an earlier version wrote it. */
  partOf: nullable(z.object({ prefix: z.string(), epoch: z.number() })),
  /** What its last scan found. */
  storedBytes: bytes,
  objectCount: z.number(),
  /** What of it had been stored for over a year. Absent: an older version scanned it. */
  oldBytes: bytes.optional(),
  /** What was found by HEAD since then, less what was deleted. It can be negative. */
  sinceBytes: bytes,
  sinceCount: z.number(),
  /** The scan includes every change before this, and no change after `scanEndedMs`. 0: it was never scanned. */
  scannedAtMs: z.number(),
  scanEndedMs: z.number(),
  /**
   * Set if something changed between these times of which nobody knows whether it is counted: a scan is needed that began
   * after `untilMs`. The shard's sums may be too high by `doubtBytes`, at most.
   */
  stale: nullable(z.object({ fromMs: z.number(), untilMs: z.number(), doubtBytes: bytes })),
  /**
   * oid → when it was noted. What the sums above hold of the objects that reservations claim, or did a while ago. Stored as
   * pairs in a text, because they are most of the item. Absent: none.
   *
   * The oids are in the same item as the sums, because both must change in one write. `covered` ids as for other repos
   * don't work: a push has one object in each of hundreds of shards, so none would ever be covered. LastModified alone
   * doesn't work either: a URL can be used twice, and some stores report when a PUT began.
   */
  counted: z.string().default('').transform(countedIn),
  /** Deletes whose objects were taken off already, while their record lasts. */
  appliedRuns: z.array(z.string()).transform((runs): ReadonlySet<string> => new Set(runs)),
});
export type Shard = Frozen<z.output<typeof shardSchema>>;

function countedIn(text: string): ReadonlyMap<string, number> {
  const pairs = text === '' ? [] : text.split(' ').map((pair) => pair.split(':'));
  return new Map(pairs.map(([oid = '', notedAtMs]) => [oid, Number.parseInt(notedAtMs ?? '', 36)]));
}

/** What a scan of a shard found. */
export interface ShardScan {
  readonly storedBytes: number;
  readonly objectCount: number;
  readonly oldBytes?: number;
  /** Before the ledger was read, and so before the scan. */
  readonly scannedAtMs: number;
  readonly scanEndedMs: number;
  /** The oids that are claimed, or arrived while the ledger was read and the shard listed, and were seen. */
  readonly seen: ReadonlySet<string>;
}

/** Where a shard is. */
export type ShardPlace = Pick<Shard, 'prefix' | 'after'>;

/** A shard of which nothing is known yet. */
export function unscannedShard(place: ShardPlace, epoch: number): Shard {
  const nothing = { storedBytes: 0, objectCount: 0, sinceBytes: 0, sinceCount: 0 };
  const never = { scannedAtMs: 0, scanEndedMs: 0, stale: null };
  const nobody = { counted: new Map<string, number>(), appliedRuns: new Set<string>() };
  return { ...place, epoch, partOf: null, ...nothing, ...never, ...nobody };
}

export function isScanned(shard: Shard): boolean {
  return shard.scannedAtMs > 0;
}

/** Hex digits of a shard's prefix, at most: 65,536 shards. Beyond 2 × 10¹⁰ objects, shards grow. */
const shardDigitsMax = 4;
/** Of files: what a first scan hasn't reached is in the last of the parts, again and again. */
const fileShardDigitsMax = 64;

/** Whether there may be parts of a shard. */
export const mayBeSplit = ({ prefix, after }: ShardPlace): boolean =>
  prefix.length < (after === undefined ? shardDigitsMax : fileShardDigitsMax);

/**
 * Names in `counted`, at most. DynamoDB takes no item above 400 KB, which 5,500 would fill. What does not fit stays
 * claimed until others have left.
 */
export const countedNamesMax = 4000;

/** Names that nobody claims any more are dropped if there are more than this: some tell that a deleted one was counted. */
const unclaimedNamesMax = 200;

/**
 * How long a name is kept that nobody claims. A batch may claim an object that is there already, if it was put within
 * the last minute. Its PUT may have begun 5 minutes before that. Whoever reads the reservations later finds that batch.
 */
export const recentMs = 10 * 60_000;

const hexDigits = [...'0123456789abcdef'];

/** Names between the parts of a shard, if there are enough. */
export const cutsMax = hexDigits.length - 1;

/**
 * The shards that a shard is split into. Together they have exactly its names.
 *
 * @param cuts of files: names in it, in order, each the last one of a part.
 */
export function partsOf(shard: ShardPlace, cuts: readonly string[] = []): ShardPlace[] {
  const { prefix, after } = shard;
  if (after === undefined) return hexDigits.map((digit) => ({ prefix: prefix + digit }));
  // Where there are too few, some parts are empty.
  return hexDigits.map((digit, part) => ({
    prefix: prefix + digit,
    after: (part === 0 ? after : cuts[Math.min(part, cuts.length) - 1]) ?? after,
  }));
}

/** The names of a shard, or of a part of one. @param shards in order. */
export function rangeAt(shards: readonly ShardPlace[], index: number, last: string | null = null): KeyRange {
  const [shard, next] = [shards[index], shards[index + 1]];
  return { after: shard ? startOf(shard) : null, last: next ? startOf(next) : last };
}

/** It has no name up to this one. null: it is the first. The first part of a shard begins where the shard does. */
function startOf({ prefix, after }: ShardPlace): string | null {
  return after === undefined ? prefix.replace(/0+$/, '') || null : after;
}

/**
 * The shards in force, in the order of their prefixes: those without a shard above them. Below one may be parts of a
 * split that was not ended.
 *
 * A shard whose parts are all there is *replaced*: the split was ended but for its removal, or the write that created the
 * shard has landed once more, after the removal. It is to be removed before one of its parts is written.
 *
 * @param input.sinceEpoch older ones are left over from when the repo was a large repo before.
 */
export function shardsInForce(
  shards: readonly Shard[],
  input: { sinceEpoch: number },
): { inForce: Shard[]; replaced: Shard[] } {
  const inForce: Shard[] = [];
  const replaced: Shard[] = [];
  const newest = shards.filter(({ epoch }) => epoch >= input.sinceEpoch);
  const byPrefix = new Map(newest.map((shard) => [shard.prefix, shard]));
  newest.sort((a, b) => compareKeys(a.prefix, b.prefix));
  for (const [index, shard] of newest.entries()) {
    const above = inForce.at(-1);
    if (above && shard.prefix.startsWith(above.prefix)) continue;
    const hasParts = newest[index + 1]?.prefix.startsWith(shard.prefix) ?? false;
    (hasParts && hasAllParts(byPrefix, shard) ? replaced : inForce).push(shard);
  }
  return { inForce, replaced };
}

/** Whether all parts of a shard are there, or theirs. */
function hasAllParts(byPrefix: ReadonlyMap<string, Shard>, shard: Shard, prefix = shard.prefix): boolean {
  if (!mayBeSplit({ ...shard, prefix })) return false;
  return hexDigits.every((digit) => {
    const child = prefix + digit;
    return replaces(byPrefix.get(child), shard) || hasAllParts(byPrefix, shard, child);
  });
}

function replaces(part: Shard | undefined, shard: Shard): boolean {
  if (!part?.partOf) return false;
  // Whoever wrote it split the shard above this one, which was not in force, into smaller parts at once.
  if (part.partOf.prefix.length < shard.prefix.length) return part.epoch > shard.epoch;
  // Parts of what a shard was before do not know what it knows.
  return part.partOf.epoch >= shard.epoch;
}

/** @returns the index of the shard that has a name. @param shards those in force, in order. */
export function indexOfName(shards: readonly ShardPlace[], name: string): number {
  let low = 0;
  let high = shards.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const after = startOf(shards[middle] ?? { prefix: '' });
    if (after === null || compareKeys(name, after) > 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A shard right after a scan. */
export function scannedShard(
  scan: ShardScan,
  shard: Pick<Shard, 'prefix' | 'after' | 'epoch' | 'partOf' | 'appliedRuns'>,
): Shard {
  const { storedBytes, objectCount, oldBytes, scannedAtMs, scanEndedMs } = scan;
  const counted = new Map<string, number>();
  for (const oid of scan.seen) counted.set(oid, scannedAtMs);
  const found = { storedBytes, objectCount, oldBytes, scannedAtMs, scanEndedMs };
  return { ...shard, ...found, sinceBytes: 0, sinceCount: 0, stale: null, counted };
}

/** Adds a change that may be counted or not. */
export function withDoubt(shard: Shard, change: NonNullable<Shard['stale']>): Shard {
  const { stale } = shard;
  if (stale === null) return { ...shard, stale: change };
  return {
    ...shard,
    stale: {
      fromMs: Math.min(stale.fromMs, change.fromMs),
      untilMs: Math.max(stale.untilMs, change.untilMs),
      doubtBytes: stale.doubtBytes + change.doubtBytes,
    },
  };
}

/** Drops names that nobody claims, if there are many of them, and that no batch can claim unseen. */
export function withoutUnclaimed(
  shard: Shard,
  input: { isClaimed: (oid: string) => boolean; scannedAtMs: number },
): Shard {
  if (shard.counted.size <= unclaimedNamesMax) return shard;
  const beforeMs = input.scannedAtMs - recentMs;
  const kept = [...shard.counted].filter(([oid, notedAtMs]) => notedAtMs >= beforeMs || input.isClaimed(oid));
  return kept.length === shard.counted.size ? shard : { ...shard, counted: new Map(kept) };
}

type PlanSettings = Pick<Settings, 'largeRepoObjects' | 'shardObjectsMax' | 'shardRoundMs' | 'clockSkewMs'>;

/**
 * How a repo is to be counted. Between the two thresholds it stays as it is.
 *
 * @param record as its last count found it. The repo with the empty name has keys beside its folder, so it is listed.
 */
export function sizeClassOf(settings: PlanSettings, record: RepoRecord): 'ordinary' | 'large' {
  const { repo, objectCount, epoch, large, closedAtMs } = record;
  // The number is that of before it became one.
  if (large?.isInitialScan) return 'large';
  if (large) return objectCount < settings.largeRepoObjects / 2 ? 'ordinary' : 'large';
  return repo !== '' && epoch > 0 && closedAtMs === null && objectCount >= settings.largeRepoObjects
    ? 'large'
    : 'ordinary';
}

/**
 * Whether a shard is to be scanned in sixteen parts from now on.
 *
 * @param shard.objectCount what it holds, or is expected to hold.
 */
export function isToBeSplit(
  settings: PlanSettings,
  shard: Pick<Shard, 'prefix' | 'after' | 'objectCount' | 'sinceCount'>,
): boolean {
  return mayBeSplit(shard) && shard.objectCount + shard.sinceCount > settings.shardObjectsMax;
}

/** LIST requests that a scan of a shard is expected to take. */
function listsOf(settings: PlanSettings, shard: Shard): number {
  const objects = isScanned(shard) ? shard.objectCount + shard.sinceCount : settings.shardObjectsMax;
  return 1 + Math.ceil(Math.max(0, objects) / pageKeysMax);
}

/**
 * When a shard is to be scanned: soon if something may be counted or not, if all are to be counted again, or once in a
 * round.
 */
export function shardDueAtMs(settings: PlanSettings, shard: Shard, large: LargeRepo): number {
  if (shard.scannedAtMs < large.rescanFromMs) return 0;
  const roundMs = shard.scannedAtMs + settings.shardRoundMs;
  // A scan that began sooner may have seen the change or not.
  return shard.stale ? Math.min(roundMs, shard.stale.untilMs + 2 * settings.clockSkewMs + 1) : roundMs;
}

/** The shards to scan now, those in doubt first and then the longest due, and when the first of the others is due. */
export function planShards(
  settings: PlanSettings,
  input: { shards: readonly Shard[]; large: LargeRepo; nowMs: number; listsMax: number },
): { prefixes: string[]; nextDueAtMs: number } {
  const { shards, large, nowMs, listsMax } = input;
  const dueAtMs = (shard: Shard) => shardDueAtMs(settings, shard, large);
  const due = listsMax > 0 ? shards.filter((shard) => dueAtMs(shard) <= nowMs) : [];
  const rank = (shard: Shard) => (shard.stale ? 0 : 1);
  due.sort((a, b) => rank(a) - rank(b) || a.scannedAtMs - b.scannedAtMs);
  const chosen = new Set<Shard>();
  let lists = 0;
  for (const shard of due) {
    if (lists >= listsMax) break;
    lists += listsOf(settings, shard);
    chosen.add(shard);
  }
  const others = shards.filter((shard) => !chosen.has(shard)).map(dueAtMs);
  const again = [...chosen].map(() => nowMs + settings.shardRoundMs);
  return {
    prefixes: [...chosen].map(({ prefix }) => prefix),
    nextDueAtMs: [...others, ...again].reduce(
      (first, atMs) => Math.min(first, atMs),
      Number.MAX_SAFE_INTEGER,
    ),
  };
}
