import { mapLimited } from '../rules/async.ts';
import { yearMs } from '../rules/dates.ts';
import { compareKeys, isOid, repoPrefix } from '../rules/names.ts';
import { addingOld } from '../scan/page-in-range.ts';
import { type KeyRange, widthOf } from '../scan/rules/key-space.ts';
import type { CountedPart, PathScanInput, PathScanOutcome, ScanRest } from '../scan/rules/scan-plan.ts';
import { pageKeysMax } from '../store/rules/store.ts';
import type { CoreDeps } from './core-deps.ts';
import type { LargeRepoScan } from './rules/large-repo-scan.ts';
import {
  countedNamesMax,
  cutsMax,
  isScanned,
  isToBeSplit,
  mayBeSplit,
  partsOf,
  planShards,
  rangeAt,
  recentMs,
  type Shard,
  type ShardPlace,
  type ShardScan,
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
  /** Names at which there are empty objects, or may be. undefined: it is no repo of files. */
  readonly emptied: ReadonlySet<string> | undefined;
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
    if (!isScanned(shard)) return this.#scanFirst(count, { shard, lookFor });
    const { last } = count.rangeOf(prefix);
    const isSplit = isToBeSplit(settings, shard);
    const cuts = isSplit && shard.after !== undefined ? await this.#cutsIn(count.rangeOf(prefix)) : undefined;
    const parts: readonly ShardPlace[] = isSplit && cuts?.length !== 0 ? partsOf(shard, cuts) : [shard];
    const ranges = parts.map((_, index) => rangeAt(parts, index, last));
    const scans = await mapLimited(ranges, shardsAtOnce, (range) =>
      this.#scanNames(count, { range, lookFor, objectsExpected }),
    );
    const found = scans.filter((scan) => typeof scan !== 'string');
    return found.length === scans.length && count.scanned(prefix, found, parts);
  }

  /** Splits a shard of unknown size first, if it turns out to be too large. */
  async #scanFirst(
    count: LargeRepoScan,
    { shard, lookFor }: { shard: Shard; lookFor: ReadonlySet<string> },
  ): Promise<boolean> {
    const { settings } = this.#deps;
    const { prefix } = shard;
    const range = count.rangeOf(prefix);
    // One from before it was of files is split by digits.
    const sample: string[] | undefined = shard.after === undefined ? undefined : [];
    const isTooLarge = (rest: ScanRest) =>
      isToBeSplit(settings, { ...shard, objectCount: objectsIn(range, rest), sinceCount: 0 });
    const scan = await this.#scanNames(count, {
      range,
      lookFor,
      objectsExpected: null,
      ...(sample && { sample }),
      // How names spread tells nothing of files, so as many are listed as fill two shards.
      end: sample
        ? { requests: 2 * Math.ceil(settings.shardObjectsMax / pageKeysMax), isTooLarge: () => true }
        : { requests: 1, isTooLarge },
    });
    if (scan === 'late') return false;
    if (scan !== 'too large' && scan !== 'too many' && scan.seen.size <= countedNamesMax)
      return count.scanned(prefix, [scan]);
    // While much arrives, more shards are needed to keep all of its names.
    if (!mayBeSplit(shard) || sample?.length === 0) return false;
    count.split(prefix, sample && cutsOf(sample));
    return true;
  }

  /** Where a shard of files is cut into parts of about as many. None: nothing was listed in time. */
  async #cutsIn(range: KeyRange): Promise<string[]> {
    const sample: string[] = [];
    await this.#list(beginOf(repoPrefix(this.#input), { range, objectsExpected: null }), {
      within: range,
      onPart: (part) => addSample(sample, part, repoPrefix(this.#input)),
    });
    return cutsOf(sample);
  }

  async #scanNames(
    count: LargeRepoScan,
    input: {
      range: KeyRange;
      lookFor: ReadonlySet<string>;
      objectsExpected: number | null;
      /** Gets some of the names. */
      sample?: string[];
      /** Asked after so many requests, if they were not all. */
      end?: { requests: number; isTooLarge: (rest: ScanRest) => boolean };
    },
  ): Promise<Scanned> {
    const { clock } = this.#deps;
    const { deadlineMs = Number.POSITIVE_INFINITY, snapshot } = this.#input;
    const { range, sample, end } = input;
    if (clock.nowMs() >= deadlineMs) return 'late';
    const prefix = repoPrefix(this.#input);
    const emptied = [...(this.#input.emptied ?? [])].filter((name) => isIn(range, name));
    const old = addingOld(snapshot.scannedAtMs - yearMs);
    const options = {
      lookFor: new Set([...input.lookFor, ...emptied]),
      within: range,
      ...old.options,
      onPart: (part: CountedPart) => {
        old.options.onPart(part);
        if (sample) addSample(sample, part, prefix);
      },
    };
    let outcome = await this.#list(beginOf(prefix, input), {
      ...options,
      ...(end && { requestsMax: end.requests }),
    });
    if (outcome.kind === 'unfinished' && end && clock.nowMs() < deadlineMs) {
      if (end.isTooLarge(outcome.rest)) return 'too large';
      outcome = await this.#list(outcome.rest, options);
    }
    if (outcome.kind === 'unfinished') return 'late';
    const { storedBytes, objectCount, recent } = outcome;
    if (recent === 'too many') return 'too many';
    const seen = new Set([...outcome.seen.keys(), ...this.#named(recent)]);
    const hidden = emptied.filter((name) => outcome.seen.get(name) === 0);
    for (const name of hidden) {
      seen.delete(name);
      count.foundEmptied(name);
    }
    return {
      storedBytes,
      objectCount: objectCount - hidden.length,
      oldBytes: old.found.oldBytes,
      scannedAtMs: snapshot.scannedAtMs,
      scanEndedMs: clock.nowMs(),
      seen,
    };
  }

  /** Those that a reservation may claim. */
  #named(recent: ReadonlySet<string>): Iterable<string> {
    return this.#input.emptied ? recent : [...recent].filter(isOid);
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

const beginOf = (
  prefix: string,
  { range, objectsExpected }: { range: KeyRange; objectsExpected: number | null },
): ScanRest => ({
  prefix,
  ranges: [range],
  objectsExpected,
  storedBytes: 0,
  objectCount: 0,
  seen: [],
  requests: 0,
  isSequential: false,
});

/** Of each page, so many names tell how it spreads. */
const sampledOfPage = 16;

function addSample(sample: string[], { page, keyCount }: CountedPart, prefix: string): void {
  const step = Math.ceil(keyCount / sampledOfPage);
  for (let index = 0; index < keyCount; index += step) sample.push(page.keyAt(index).slice(prefix.length));
}

/** Names that cut those of a sample into parts of about as many. */
function cutsOf(sample: readonly string[]): string[] {
  const names = [...new Set(sample)].sort(compareKeys);
  const cuts = Array.from({ length: cutsMax }, (_, index) => {
    return names[Math.ceil(((index + 1) * names.length) / (cutsMax + 1)) - 1] ?? '';
  });
  return names.length === 0 ? [] : [...new Set(cuts)];
}

const isIn = ({ after, last }: KeyRange, name: string) =>
  (after === null || compareKeys(name, after) > 0) && (last === null || compareKeys(name, last) <= 0);

/** Objects to expect in a range, by how much of it those have taken up that were counted. */
function objectsIn(range: KeyRange, rest: ScanRest): number {
  const left = rest.ranges.reduce((sum, open) => sum + widthOf(open), 0);
  const listed = widthOf(range) - left;
  return listed > 0 ? rest.objectCount * (widthOf(range) / listed) : 0;
}
