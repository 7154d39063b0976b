import { sha256Hex } from '../../rules/hash.ts';
import type { Settings } from '../../rules/settings.ts';
import type { KeyRange } from '../../scan/rules/key-space.ts';
import type { Removal } from './deletion.ts';
import {
  countedNamesMax,
  indexOfName,
  isScanned,
  partsOf,
  rangeAt,
  recentMs,
  type Shard,
  type ShardPlace,
  type ShardScan,
  scannedShard,
  unscannedShard,
  withDoubt,
  withoutUnclaimed,
} from './shard.ts';

/** What one reconcile changes in a shard. */
type ShardChange =
  | { readonly kind: 'write'; readonly shard: Shard; readonly epochRead: number | null }
  /** Its parts are in force from then on. */
  | { readonly kind: 'remove'; readonly prefix: string; readonly epochRead: number };

/** What is known of an object that was found by HEAD. */
export interface FoundObject {
  readonly oid: string;
  readonly sizeBytes: number;
  /** By the store's clock: when its PUT began, or ended. null: the store does not say. */
  readonly lastModifiedMs: number | null;
  /** When the oldest reservation was created that claims it. */
  readonly claimedSinceMs: number;
  readonly foundAtMs: number;
}

/** A deletion run whose objects are to be taken off the count. */
export interface EndedRun extends Removal {
  /** It identifies the run. */
  readonly runId: string;
}

/**
 * The shards of a large repo while a reconcile corrects them. An object is counted when a shard's sums hold it, and each
 * is counted once: `Shard.counted` tells it of every object that a reservation claims.
 *
 * The order is binding: scans, then what was deleted, then what was found. A scan may have seen an object or not that
 * came or went meanwhile, and `counted` has the name of each that came and was seen.
 */
export class LargeRepoScan {
  readonly #epoch: number;
  readonly #settings: Pick<Settings, 'clockSkewMs'>;
  readonly #read: ReadonlyMap<string, Shard>;
  readonly #shards: Shard[];
  readonly #isOfFiles: boolean;
  /** Ids of files at whose names there's an empty object. It is nothing, and whoever claimed the name has nothing to wait for. */
  readonly #emptied = new Set<string>();
  readonly #split = new Set<string>();
  /** Prefixes of the shards that this reconcile has scanned. */
  readonly #scanned = new Set<string>();
  /** A shard to which something found was added → its own names, so that they are not copied for each. */
  readonly #found = new WeakMap<Shard, Map<string, number>>();
  /** Runs whose record is still there: a shard forgets the others. */
  readonly #runs: ReadonlySet<string>;

  /**
   * @param input.shards those in force, in the order of their prefixes.
   */
  constructor(input: {
    epoch: number;
    shards: readonly Shard[];
    runs: readonly EndedRun[];
    settings: Pick<Settings, 'clockSkewMs'>;
    isOfFiles?: boolean;
  }) {
    this.#epoch = input.epoch;
    this.#settings = input.settings;
    this.#isOfFiles = input.isOfFiles ?? false;
    this.#read = new Map(input.shards.map((shard) => [shard.prefix, shard]));
    this.#shards = [...input.shards];
    this.#runs = new Set(input.runs.map(({ runId }) => runId));
  }

  get shards(): readonly Shard[] {
    return this.#shards;
  }

  /** Whether every shard was scanned once. Until then the sums are not what the repo holds. */
  get isComplete(): boolean {
    return this.#shards.every(isScanned);
  }

  /** How much of the names was counted since a time, and the objects in it. */
  scannedSince(fromMs: number): { share: number; objectCount: number } {
    const counted = this.#shards.filter((shard) => isScanned(shard) && shard.scannedAtMs >= fromMs);
    return {
      share: counted.reduce((sum, { prefix }) => sum + 16 ** -prefix.length, 0),
      objectCount: counted.reduce((sum, shard) => sum + shard.objectCount, 0),
    };
  }

  /** Whether the sums hold an object that is claimed, or need not hold it any more. */
  isCounted(name: string): boolean {
    const id = this.#idOf(name);
    return this.#emptied.has(id) || (this.#shards[this.#indexOf(name)]?.counted.has(id) ?? false);
  }

  /** Of files: there's an empty object at this name. */
  foundEmptied(name: string): void {
    this.#emptied.add(this.#idOf(name));
  }

  /** What tells an object in `counted`: of files a hash, as their names can be long, and look like others' hashes. */
  #idOf(name: string): string {
    return this.#isOfFiles ? sha256Hex(name) : name;
  }

  /** The names of a shard. */
  rangeOf(prefix: string): KeyRange {
    return rangeAt(this.#shards, this.#placeOf(prefix));
  }

  #placeOf(prefix: string): number {
    return this.#shards.findIndex((shard) => shard.prefix === prefix);
  }

  /** The names of a shard of which a scan must say whether it saw them. */
  namesToLookFor(prefix: string, input: { claimed: Iterable<string>; scannedAtMs: number }): Set<string> {
    const { claimed, scannedAtMs } = input;
    const index = this.#placeOf(prefix);
    const names = new Set<string>();
    for (const oid of claimed) if (this.#indexOf(oid) === index) names.add(oid);
    // A hash is no name: until a file that nobody claims is old, its delete makes its shard stale.
    if (this.#isOfFiles) return names;
    // Of those that nobody claims, the age of an object tells the same once it is old.
    for (const [oid, notedAtMs] of this.#shards[index]?.counted ?? [])
      if (notedAtMs >= scannedAtMs - longestPutMs) names.add(oid);
    return names;
  }

  /**
   * Takes over the scan of a shard, or of its sixteen parts.
   *
   * @param places where they are. Of files, they depend on where it was cut.
   * @returns false if it saw more names than a shard can keep. The last scan stays then.
   */
  scanned(prefix: string, scans: readonly ShardScan[], places?: readonly ShardPlace[]): boolean {
    const index = this.#placeOf(prefix);
    const before = this.#shards[index];
    if (!before) throw new Error(`There is no shard ${prefix}.`);
    if (scans.some(({ seen }) => seen.size > countedNamesMax)) return false;
    const isSplit = scans.length > 1;
    const parts = isSplit ? (places ?? partsOf(before)) : [before];
    const partOf = isSplit ? this.#partOf(before) : before.partOf;
    const { appliedRuns, stale } = before;
    const shards = scans.map((scan, part) => {
      // The scan may have seen a change, or not, that happened about when it began.
      const isOver = stale === null || this.#isAfter(scan.scannedAtMs, stale.untilMs);
      const { prefix = '', after } = parts[part] ?? {};
      const place = after === undefined ? { prefix } : { prefix, after };
      const seen = new Set([...scan.seen].map((name) => this.#idOf(name)));
      const shard = { ...place, epoch: this.#epoch, partOf, appliedRuns };
      return { ...scannedShard({ ...scan, seen }, shard), stale: isOver ? null : stale };
    });
    if (isSplit) this.#split.add(prefix);
    for (const part of parts) this.#scanned.add(part.prefix);
    this.#shards.splice(index, 1, ...shards);
    return true;
  }

  /** Has a shard that was never scanned counted in sixteen parts. @param cuts of files: where to cut it. */
  split(prefix: string, cuts?: readonly string[]): void {
    const index = this.#placeOf(prefix);
    const shard = this.#shards[index];
    if (!shard || isScanned(shard)) throw new Error(`There is no unscanned shard ${prefix}.`);
    const { stale, appliedRuns } = shard;
    const known = { partOf: this.#partOf(shard), stale, appliedRuns };
    const parts = partsOf(shard, cuts).map((part) => ({ ...unscannedShard(part, this.#epoch), ...known }));
    this.#split.add(prefix);
    this.#shards.splice(index, 1, ...parts);
  }

  /** Of the parts of a shard. One that was never written is a part itself, of a shard that was split just before. */
  #partOf({ prefix, partOf }: Shard): Shard['partOf'] {
    const epoch = this.#read.get(prefix)?.epoch;
    return epoch === undefined ? partOf : { prefix, epoch };
  }

  /**
   * Takes off what a delete removed. Of what cannot be proven to have been counted, or not, the shard becomes stale.
   *
   * @param input.isClaimed whether a reservation claims the object.
   * @param input.isUncertain whether somebody else may have removed it too.
   */
  removed(
    run: EndedRun,
    input: { isClaimed: (oid: string) => boolean; isUncertain?: (name: string) => boolean },
  ): void {
    const byShard = new Map<number, string[]>();
    for (const name of run.objects.keys()) {
      const index = this.#indexOf(name);
      byShard.set(index, [...(byShard.get(index) ?? []), name]);
    }
    for (const [index, names] of byShard) {
      const shard = this.#shards[index];
      if (!shard || shard.appliedRuns.has(run.runId)) continue;
      // Its scan began after the delete. It has seen what was put again, and nothing else.
      if (this.#isAfter(shard.scannedAtMs, run.endedMs)) continue;
      const counted = new Map(shard.counted);
      let after: Shard = { ...shard, appliedRuns: new Set([...shard.appliedRuns, run.runId]) };
      for (const name of names) {
        const { sizeBytes = 0, lastModifiedMs: storedAtMs = null } = run.objects.get(name) ?? {};
        const lastModifiedMs = input.isUncertain?.(name) ? null : storedAtMs;
        counted.delete(this.#idOf(name));
        if (this.#wasScanned(shard, { name, lastModifiedMs, run, isClaimed: input.isClaimed(name) }))
          after = { ...after, sinceBytes: after.sinceBytes - sizeBytes, sinceCount: after.sinceCount - 1 };
        else after = withDoubt(after, { fromMs: run.beganMs, untilMs: run.endedMs, doubtBytes: sizeBytes });
      }
      this.#shards[index] = { ...after, counted };
    }
  }

  /** @returns false if it was not counted, or if that cannot be told. */
  #wasScanned(
    shard: Shard,
    input: { name: string; lastModifiedMs: number | null; run: EndedRun; isClaimed: boolean },
  ): boolean {
    const { name, lastModifiedMs, run, isClaimed } = input;
    // The scan may have seen it or not.
    if (!this.#isAfter(run.beganMs, shard.scanEndedMs)) return false;
    // It was not there any more. A run that died may have deleted it, or somebody around the API.
    if (lastModifiedMs === null) return false;
    if (shard.counted.has(this.#idOf(name))) return true;
    // Its PUT had ended before the scan began, and nobody who claims it would have been told to send it.
    return !isClaimed && lastModifiedMs < shard.scannedAtMs - longestPutMs;
  }

  /**
   * Something in the whole repo changed, of which nobody knows what.
   *
   * @param change.isBeforeScans the scans of this reconcile have seen it.
   */
  doubted(change: { fromMs: number; untilMs: number; isBeforeScans?: boolean }): void {
    const { fromMs, untilMs, isBeforeScans = false } = change;
    for (const [index, shard] of this.#shards.entries()) {
      const { stale } = shard;
      if (isBeforeScans && this.#scanned.has(shard.prefix)) continue;
      const isKnown = stale !== null && stale.fromMs <= fromMs && stale.untilMs >= untilMs;
      if (isKnown || this.#isAfter(shard.scannedAtMs, untilMs)) continue;
      const doubtBytes = shard.storedBytes + shard.sinceBytes;
      this.#shards[index] = withDoubt(shard, { fromMs, untilMs, doubtBytes });
    }
  }

  /**
   * Notes an object that was found in the store and is not known to be counted, and adds it unless the last scan of its
   * shard has counted it already. If that cannot be told, the shard becomes stale, and its next scan tells.
   *
   * @returns false if that cannot be told, or the shard cannot keep another name. It stays claimed then.
   */
  found(object: FoundObject): boolean {
    const { oid, sizeBytes, foundAtMs } = object;
    const index = this.#indexOf(oid);
    const shard = this.#shards[index];
    const id = this.#idOf(oid);
    if (!shard || shard.counted.has(id)) return true;
    if (shard.counted.size >= countedNamesMax) return false;
    const wasScanned = this.#wasFoundByScan(shard, object);
    if (wasScanned === undefined) {
      const { scannedAtMs, stale } = shard;
      const doubt = { fromMs: scannedAtMs, untilMs: scannedAtMs, doubtBytes: 0 };
      if (stale === null) this.#shards[index] = withDoubt(shard, doubt);
      return false;
    }
    const counted = this.#found.get(shard) ?? new Map(shard.counted);
    counted.set(id, foundAtMs);
    const added = wasScanned ? 0 : 1;
    const after = {
      ...shard,
      sinceBytes: shard.sinceBytes + added * sizeBytes,
      sinceCount: shard.sinceCount + added,
      counted,
    };
    this.#found.set(after, counted);
    this.#shards[index] = after;
    return true;
  }

  /** @returns undefined if that cannot be told. */
  #wasFoundByScan(shard: Shard, object: FoundObject): boolean | undefined {
    const { lastModifiedMs, claimedSinceMs } = object;
    // The scan looked for what was claimed, and for what was young, and would have noted it.
    if (claimedSinceMs < shard.scannedAtMs - entryWrittenMs) return false;
    if (lastModifiedMs === null) return undefined;
    if (lastModifiedMs >= shard.scannedAtMs - recentMs) return false;
    return lastModifiedMs < shard.scannedAtMs - longestPutMs ? true : undefined;
  }

  /** Drops what no later reconcile needs. */
  tidy({ claimed, scannedAtMs }: { claimed: Iterable<string>; scannedAtMs: number }): void {
    const ids = new Set(Array.from(claimed, (name) => this.#idOf(name)));
    const kept = { isClaimed: (id: string) => ids.has(id), scannedAtMs };
    for (const [index, shard] of this.#shards.entries()) this.#shards[index] = withoutUnclaimed(shard, kept);
  }

  /** What has changed, in the order in which it is to be written: the parts of a split before the shard goes. */
  changes(): ShardChange[] {
    const changes: ShardChange[] = [];
    for (const shard of this.#shards) {
      const before = this.#read.get(shard.prefix);
      if (shard === before) continue;
      const appliedRuns = new Set([...shard.appliedRuns].filter((runId) => this.#runs.has(runId)));
      changes.push({
        kind: 'write',
        shard: { ...shard, appliedRuns, epoch: this.#epoch },
        epochRead: before?.epoch ?? null,
      });
    }
    for (const prefix of this.#split) {
      const epochRead = this.#read.get(prefix)?.epoch;
      if (epochRead !== undefined) changes.push({ kind: 'remove', prefix, epochRead });
    }
    return changes;
  }

  /** The sums of all shards. `oldBytes` is missing if that of one is. */
  totals() {
    let storedBytes = 0;
    let objectCount = 0;
    let doubtBytes = 0;
    let staleFromMs: number | null = null;
    let oldBytes: number | undefined = 0;
    for (const shard of this.#shards) {
      storedBytes += shard.storedBytes + shard.sinceBytes;
      objectCount += shard.objectCount + shard.sinceCount;
      oldBytes =
        oldBytes === undefined || shard.oldBytes === undefined ? undefined : oldBytes + shard.oldBytes;
      if (!shard.stale) continue;
      doubtBytes += shard.stale.doubtBytes;
      staleFromMs = Math.min(shard.stale.fromMs, staleFromMs ?? shard.stale.fromMs);
    }
    const sums = { storedBytes, objectCount, doubtBytes, staleFromMs };
    return oldBytes === undefined ? sums : { ...sums, oldBytes };
  }

  /** Whether a time is after another, although two clocks told them. */
  #isAfter(laterMs: number, earlierMs: number): boolean {
    return laterMs > earlierMs + 2 * this.#settings.clockSkewMs;
  }

  #indexOf(name: string): number {
    return indexOfName(this.#shards, name);
  }
}

/**
 * A store may say of an object that it was put when its PUT began. An object counts as older than a scan only if its
 * PUT had ended by then, however large it is: 5 GiB at 1 MB/s, and the grace time.
 */
const longestPutMs = 2 * 60 * 60_000;

/** From the creation of a reservation until it is surely written, or its function has ended; clocks differ, too. */
const entryWrittenMs = 60_000;
