import { mapLimited } from '../rules/async.ts';
import { yearMs } from '../rules/dates.ts';
import { isOid, repoPrefix } from '../rules/names.ts';
import { addingOld } from '../scan/page-in-range.ts';
import { type KeyRange, widthOf } from '../scan/rules/key-space.ts';
import type { PathScanInput, PathScanOutcome, ScanRest } from '../scan/rules/scan-plan.ts';
import type { CoreDeps } from './core-deps.ts';
import type { LargeRepoScan } from './rules/large-repo-scan.ts';
import {
  childrenOf,
  countedNamesMax,
  isScanned,
  isToBeSplit,
  planShards,
  rangeOf,
  recentMs,
  type ShardScan,
  shardDigitsMax,
} from './rules/shard.ts';
import type { LargeRepo } from './rules/tenant.ts';
import { type Lease, type LedgerSnapshot, renewOrThrow } from './snapshot.ts';

/** LIST requests at a time for one shard. With more, a shard is cut into more parts, and takes more requests in all. */
const pagesAtOnce = 32;
const shardsAtOnce = 4;

interface ShardScannerInput {
  readonly tenant: string;
  readonly repo: string;
  readonly snapshot: LedgerSnapshot;
  /** The oids that reservations claim, or somebody who waits. */
  readonly claimed: ReadonlySet<string>;
  /** LIST requests that may be made. */
  readonly listsMax: number;
  readonly deadlineMs?: number;
  readonly lease: Lease;
}

/**
 * What a scan of names found. `too large`: more objects than a shard is to have. `too many`: more names than it can keep.
 * `late`: the deadline passed first.
 */
type Scanned = ShardScan | 'too large' | 'too many' | 'late';

/**
 * Scans the shards of one large repo that are due, and counts the LIST requests that this takes.
 *
 * Scans are part of a reconcile, not of workers of their own. So a scan knows the entries that it began with, and only
 * what arrives within its seconds must be told by its time. A worker would have to report everything newer than the
 * longest life of a reservation, and its result would have to be folded in exactly once.
 */
export class ShardScanner {
  readonly #deps: Pick<CoreDeps, 'scan' | 'clock' | 'settings'>;
  readonly #input: ShardScannerInput;
  requests = 0;

  constructor(deps: Pick<CoreDeps, 'scan' | 'clock' | 'settings'>, input: ShardScannerInput) {
    this.#deps = deps;
    this.#input = input;
  }

  /**
   * Scans as many as there are LIST requests for.
   *
   * @returns false if one could not be scanned: the deadline passed, or it has more names than a shard can keep.
   * @throws {StoreUnavailableError | LedgerUnavailableError | SupersededError}
   */
  async scanDue(count: LargeRepoScan, large: LargeRepo): Promise<boolean> {
    const nowMs = this.#input.snapshot.scannedAtMs;
    for (;;) {
      const listsMax = this.#input.listsMax - this.requests;
      const { shards } = count;
      const { prefixes } = planShards(this.#deps.settings, { shards, large, nowMs, listsMax });
      if (prefixes.length === 0) return true;
      const objectsExpected = count.totals().objectCount;
      const isDone = await mapLimited(prefixes, shardsAtOnce, (prefix) =>
        this.#scanShard(count, { prefix, objectsExpected }),
      );
      if (isDone.includes(false)) return false;
    }
  }

  async #scanShard(
    count: LargeRepoScan,
    { prefix, objectsExpected }: { prefix: string; objectsExpected: number },
  ): Promise<boolean> {
    const { settings } = this.#deps;
    const { claimed, snapshot } = this.#input;
    const shard = count.shards.find((candidate) => candidate.prefix === prefix);
    if (!shard) throw new Error(`There is no shard ${prefix}.`);
    const lookFor = count.namesToLookFor(prefix, { claimed, scannedAtMs: snapshot.scannedAtMs });
    if (!isScanned(shard)) return this.#scanFirst(count, { prefix, lookFor });
    const parts = isToBeSplit(settings, shard) ? childrenOf(prefix) : [prefix];
    const scans = await mapLimited(parts, shardsAtOnce, (part) =>
      this.#scanNames({ range: rangeOf(part), lookFor, objectsExpected }),
    );
    const found = scans.filter((scan) => typeof scan !== 'string');
    return found.length === scans.length && count.scanned(prefix, found);
  }

  /** Splits a shard of unknown size first, if it turns out to be too large. */
  async #scanFirst(
    count: LargeRepoScan,
    { prefix, lookFor }: { prefix: string; lookFor: ReadonlySet<string> },
  ): Promise<boolean> {
    const { settings } = this.#deps;
    const range = rangeOf(prefix);
    const scan = await this.#scanNames({
      range,
      lookFor,
      objectsExpected: null,
      isTooLarge: (rest) =>
        isToBeSplit(settings, { prefix, objectCount: objectsIn(range, rest), sinceCount: 0 }),
    });
    if (scan === 'late') return false;
    if (scan !== 'too large' && scan !== 'too many' && scan.seen.size <= countedNamesMax)
      return count.scanned(prefix, [scan]);
    // While much arrives, more shards are needed to keep all of its names.
    if (prefix.length >= shardDigitsMax) return false;
    count.split(prefix);
    return true;
  }

  async #scanNames(input: {
    range: KeyRange;
    lookFor: ReadonlySet<string>;
    objectsExpected: number | null;
    /** Asked after the first page, if it was not all. */
    isTooLarge?: (rest: ScanRest) => boolean;
  }): Promise<Scanned> {
    const { clock } = this.#deps;
    const { deadlineMs = Number.POSITIVE_INFINITY, snapshot } = this.#input;
    const { range, lookFor, objectsExpected, isTooLarge } = input;
    if (clock.nowMs() >= deadlineMs) return 'late';
    const prefix = repoPrefix(this.#input);
    const nothing = { storedBytes: 0, objectCount: 0, seen: [], requests: 0, isSequential: false };
    const begin: ScanRest = { prefix, ranges: [range], objectsExpected, ...nothing };
    const old = addingOld(snapshot.scannedAtMs - yearMs);
    const options = { lookFor, within: range, ...old.options };
    let outcome = await this.#list(begin, { ...options, ...(isTooLarge && { requestsMax: 1 }) });
    if (outcome.kind === 'unfinished' && isTooLarge && clock.nowMs() < deadlineMs) {
      if (isTooLarge(outcome.rest)) return 'too large';
      outcome = await this.#list(outcome.rest, options);
    }
    if (outcome.kind === 'unfinished') return 'late';
    const { storedBytes, objectCount, seen, recent } = outcome;
    if (recent === 'too many') return 'too many';
    return {
      storedBytes,
      objectCount,
      oldBytes: old.found.oldBytes,
      scannedAtMs: snapshot.scannedAtMs,
      scanEndedMs: clock.nowMs(),
      seen: new Set([...seen.keys(), ...[...recent].filter(isOid)]),
    };
  }

  async #list(
    resume: ScanRest,
    options: Pick<PathScanInput, 'lookFor' | 'within' | 'reads' | 'onPart' | 'onRestart' | 'requestsMax'>,
  ): Promise<PathScanOutcome> {
    const { settings } = this.#deps;
    const { snapshot, deadlineMs, lease } = this.#input;
    let charged = 0;
    const charge = (requests: number) => {
      const more = Math.max(0, requests - charged);
      charged += more;
      this.requests += more;
      lease.addShardRequests(more);
    };
    const outcome = await this.#deps.scan.scan({
      ...options,
      prefix: resume.prefix,
      resume,
      concurrency: Math.min(pagesAtOnce, settings.scanConcurrency),
      recentSinceMs: snapshot.scannedAtMs - recentMs,
      ...(deadlineMs !== undefined && { deadlineMs }),
      onPage: ({ requests }) => {
        charge(requests);
        return renewOrThrow(lease);
      },
    });
    charge(outcome.requests);
    return outcome;
  }
}

/** Objects to expect in a range, by how much of it those have taken up that were counted. */
function objectsIn(range: KeyRange, rest: ScanRest): number {
  const left = rest.ranges.reduce((sum, open) => sum + widthOf(open), 0);
  const listed = widthOf(range) - left;
  return listed > 0 ? rest.objectCount * (widthOf(range) / listed) : 0;
}
