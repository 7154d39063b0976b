import type { Deletion } from '../../domain/deletion.ts';
import { type EndedRun, GiantCount } from '../../domain/giant/giant-count.ts';
import {
  childrenOf,
  countedNamesMax,
  prefixesOf,
  rangeOf,
  recentMs,
  type Shard,
  type ShardScan,
  scannedShard,
  shardDigitsMax,
  shardsInForce,
} from '../../domain/giant/shard.ts';
import { firstDigits, isToBeSplit, planShards } from '../../domain/giant/shard-plan.ts';
import { isOid, objectKey, repoPrefix } from '../../domain/names.ts';
import { RepoReservations, type RepoScan } from '../../domain/repo-reservations.ts';
import { deletedByMs, sumClaims } from '../../domain/reservation.ts';
import { type Giant, isChangeUnknown, type RepoRecord } from '../../domain/tenant.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
import { type Lease, renewOrThrow } from './lease.ts';
import type { LedgerSnapshot } from './read-snapshot.ts';

type CountGiantDeps = Pick<Deps, 'ledger' | 'store' | 'scan' | 'clock' | 'settings'>;

/** HEAD requests for claimed objects in one reconcile, at most. The others stay claimed until the next. */
const headsMax = 5000;
const headsAtOnce = 64;
const shardsAtOnce = 4;
/** After a shard could not be scanned. */
const scanAgainAfterMs = 10_000;
/** HEAD requests that are charged as one LIST: docs/cost.md. */
const headsPerListCharge = 12.5;

export interface CountGiantInput {
  readonly tenant: string;
  readonly record: RepoRecord;
  readonly epoch: number;
  readonly snapshot: LedgerSnapshot;
  /** The oids of a batch that waits for the outcome, although its reservation is left out. */
  readonly awaitedOids: ReadonlySet<string>;
  /** Count all shards again, from now on. */
  readonly isThorough: boolean;
  /** LIST requests that may be made for shards. */
  readonly listsMax: number;
  readonly deadlineMs?: number;
  readonly lease: Lease;
}

/** What a reconcile found of a giant repo, before anything is written. */
export interface GiantOutcome {
  readonly repo: string;
  readonly scan: RepoScan;
  readonly giant: Giant;
  readonly count: GiantCount;
  /** Every change before this is counted. */
  readonly countedAtMs: number;
  /** Every change around the API before this is counted. */
  readonly listedAtMs: number;
  /** By how much the sums may be too high, because of deletes. */
  readonly doubtBytes: number;
  /** Runs that are taken off the count once the shards are written. */
  readonly runs: readonly { readonly deletionId: string; readonly runMs: number }[];
  /** LIST requests that were made for shards, and the HEADs in LISTs. They are not charged to the tenant's budget. */
  readonly shardLists: number;
  readonly nextDueAtMs: number;
}

/**
 * Counts a giant repo without listing it: the sums of its shards, corrected by what was deleted, and by what the store
 * says of each object that is claimed and not counted yet. A few shards that are due are scanned.
 *
 * @returns undefined if the deadline passed before a repo that becomes a giant was listed.
 * @throws {StoreUnavailableError | LedgerUnavailableError} @throws {SupersededError}
 */
export async function countGiant(
  deps: CountGiantDeps,
  input: CountGiantInput,
): Promise<GiantOutcome | undefined> {
  const { tenant, record, epoch, snapshot } = input;
  const { repo } = record;
  const { countedAtMs } = snapshot;
  const reservations = snapshot.reservations.get(repo) ?? new RepoReservations();
  // After the reservations: whoever pushes a deleted object again finds its deletion first.
  const deletions = await allPages(deps.ledger.deletionsOf({ tenant, repo }));
  const runs = endedRuns(deletions);
  const severalTimes = namedSeveralTimes(deletions);
  const claimed = new Set([...reservations.oids(), ...input.awaitedOids]);
  const scanner = new ShardScanner(deps, { ...input, claimed });
  const count = record.giant
    ? await readShards(deps, { ...input, giant: record.giant, runs })
    : await firstCount(scanner, { record, epoch, runs, settings: deps.settings });
  if (!count) return undefined;
  const giant = giantAfter(input, count);
  const plan = planShards(deps.settings, { ...input, shards: count.shards, giant, nowMs: countedAtMs });
  const isScanned = record.giant ? await scanner.scanDue(count, plan.prefixes) : true;

  for (const run of runs) {
    // The run's own late reservation says that an object may come again, not that it was never counted.
    const ownMs = deletedByMs(run.runMs, deps.settings.clockSkewMs);
    const others = reservations.oidsBeside(ownMs);
    count.removed(run, {
      isClaimed: (oid) => others.has(oid) || input.awaitedOids.has(oid),
      isUncertain: (name) => severalTimes.has(name),
    });
  }
  for (const change of reservations.namelessChanges(snapshot.scanBeganMs)) count.doubted(change);
  if (record.giant && isChangeUnknown(record))
    count.doubted({ fromMs: record.countedAtMs, untilMs: countedAtMs });

  const underWay = deletions.filter(({ state }) => state === 'deleting');
  const going = new Set(underWay.flatMap(namesOf));
  const { unknown, heads } = await askForClaimed(deps, { ...input, count, reservations, going });
  count.tidy({ isClaimed: (oid) => claimed.has(oid), countedAtMs });

  const totals = count.totals();
  const listedAtMs = count.shards.reduce((ms, shard) => Math.min(ms, shard.countedAtMs), countedAtMs);
  const goingBytes = underWay.reduce((sum, { objects }) => sum + sumClaims(objects), 0);
  return {
    repo,
    scan: {
      ...totals,
      seen: { has: (oid) => count.isCounted(oid) },
      giant: { unknown, going, listedAtMs },
    },
    giant,
    count,
    countedAtMs: Math.min(
      countedAtMs,
      totals.staleFromMs ?? countedAtMs,
      // A run that died may have deleted some, and it cannot have begun sooner.
      ...underWay.map(({ dueAtMs }) => dueAtMs),
    ),
    listedAtMs,
    doubtBytes: totals.doubtBytes + goingBytes,
    runs: runs.map(({ deletionId, runMs }) => ({ deletionId, runMs })),
    shardLists: scanner.requests + Math.ceil(heads / headsPerListCharge),
    nextDueAtMs:
      isScanned && unknown.size === 0
        ? planShards(deps.settings, { shards: count.shards, giant, nowMs: countedAtMs, listsMax: 0 })
            .nextDueAtMs
        : countedAtMs + Math.max(scanAgainAfterMs, deps.settings.recountRestMs),
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

async function readShards(
  { ledger, settings }: CountGiantDeps,
  input: CountGiantInput & { giant: Giant; runs: readonly EndedRun[] },
): Promise<GiantCount> {
  const { tenant, record, epoch, giant, runs } = input;
  const items: Shard[] = [];
  for await (const page of ledger.shards({ tenant, repo: record.repo })) {
    items.push(...page);
    await renewOrThrow(input.lease);
  }
  return new GiantCount({ epoch, shards: shardsInForce(items, giant), isNew: false, runs, settings });
}

/** @returns undefined if the deadline passed first. */
async function firstCount(
  scanner: ShardScanner,
  input: { record: RepoRecord; epoch: number; runs: readonly EndedRun[]; settings: Deps['settings'] },
): Promise<GiantCount | undefined> {
  const { record, epoch, runs, settings } = input;
  let prefixes: string[] = [];
  let scans: ShardScan[] | undefined;
  for (let digits = firstDigits(settings, record.objectCount); digits <= shardDigitsMax; digits += 1) {
    prefixes = prefixesOf(digits);
    scans = await scanner.scan(prefixes, { lookFor: scanner.claimed, objects: record.objectCount });
    // While much arrives, more shards are needed to keep all of its names.
    if (!scans || scans.every(({ seen }) => seen.size <= countedNamesMax)) break;
    scans = undefined;
  }
  if (!scans) return undefined;
  const shards = scans.map((scan, index) =>
    scannedShard(scan, { prefix: prefixes[index] ?? '', epoch, appliedRuns: new Set() }),
  );
  return new GiantCount({ epoch, shards, isNew: true, runs, settings });
}

function giantAfter({ record, epoch, isThorough, snapshot }: CountGiantInput, count: GiantCount): Giant {
  const { sinceEpoch, recountFromMs } = record.giant ?? { sinceEpoch: epoch, recountFromMs: 0 };
  // A round that is under way is ended first, or it never would be.
  const isRoundOver = count.shards.every((shard) => shard.countedAtMs >= recountFromMs);
  return { sinceEpoch, recountFromMs: isThorough && isRoundOver ? snapshot.countedAtMs : recountFromMs };
}

/**
 * Asks the store for each object that is claimed and not counted.
 *
 * @returns the oids of which nobody knows whether they have arrived, and how many HEAD requests were made.
 */
async function askForClaimed(
  { store, clock }: CountGiantDeps,
  input: CountGiantInput & {
    count: GiantCount;
    reservations: RepoReservations;
    going: ReadonlySet<string>;
  },
): Promise<{ unknown: ReadonlySet<string>; heads: number }> {
  const { tenant, record, count, snapshot, going, lease } = input;
  const isAnswered = (oid: string) => count.isCounted(oid) || going.has(oid);
  const wanted = input.reservations.toAsk({ nowMs: snapshot.scanBeganMs, isCounted: isAnswered });
  for (const oid of input.awaitedOids) if (!isAnswered(oid)) wanted.add(oid);
  const oids = [...wanted].slice(0, headsMax);
  const unknown = new Set([...wanted].slice(headsMax));
  await mapLimited(oids, headsAtOnce, async (oid) => {
    const stored = await store.head(objectKey({ tenant, repo: record.repo, oid }));
    if (stored && !count.found({ oid, sizeBytes: stored.sizeBytes, foundAtMs: clock.nowMs() }))
      unknown.add(oid);
    await renewOrThrow(lease);
  });
  for (const oid of going) if (!count.isCounted(oid)) unknown.add(oid);
  return { unknown, heads: oids.length };
}

/** Scans shards, and counts the LIST requests that this takes. */
class ShardScanner {
  readonly #deps: CountGiantDeps;
  readonly #input: CountGiantInput;
  readonly claimed: ReadonlySet<string>;
  requests = 0;

  constructor(deps: CountGiantDeps, input: CountGiantInput & { claimed: ReadonlySet<string> }) {
    this.#deps = deps;
    this.#input = input;
    this.claimed = input.claimed;
  }

  /** @returns false if the deadline passed before all were scanned. */
  async scanDue(count: GiantCount, prefixes: readonly string[]): Promise<boolean> {
    const objects = count.totals().objectCount;
    const { countedAtMs } = this.#input.snapshot;
    const isDone = await mapLimited(prefixes, shardsAtOnce, async (prefix) => {
      const shard = count.shards.find((candidate) => candidate.prefix === prefix);
      const lookFor = count.namesToLookFor(prefix, { claimed: this.claimed, countedAtMs });
      const parts = shard && isToBeSplit(this.#deps.settings, shard) ? childrenOf(prefix) : [prefix];
      const scans = await this.scan(parts, { lookFor, objects });
      return scans ? count.scanned(prefix, scans) : false;
    });
    return !isDone.includes(false);
  }

  /** @returns what was found below each prefix. undefined: the deadline passed first. */
  async scan(
    prefixes: readonly string[],
    how: { lookFor: ReadonlySet<string>; objects: number },
  ): Promise<ShardScan[] | undefined> {
    const scans = await mapLimited(prefixes, shardsAtOnce, (prefix) => this.#scanOne(prefix, how));
    return scans.includes(undefined) ? undefined : scans.filter((scan) => scan !== undefined);
  }

  async #scanOne(
    shardPrefix: string,
    { lookFor, objects }: { lookFor: ReadonlySet<string>; objects: number },
  ): Promise<ShardScan | undefined> {
    const { clock } = this.#deps;
    const { tenant, record, deadlineMs, snapshot, lease } = this.#input;
    if (deadlineMs !== undefined && clock.nowMs() >= deadlineMs) return undefined;
    const prefix = repoPrefix({ tenant, repo: record.repo });
    const outcome = await this.#deps.scan.scan({
      prefix,
      resume: {
        prefix,
        ranges: [rangeOf(shardPrefix)],
        storedBytes: 0,
        objectCount: 0,
        seen: [],
        requests: 0,
        isSequential: false,
        objectsExpected: objects,
      },
      lookFor,
      recentSinceMs: snapshot.countedAtMs - recentMs,
      ...(deadlineMs !== undefined && { deadlineMs }),
      onPage: () => renewOrThrow(lease),
    });
    this.requests += outcome.requests;
    if (outcome.kind === 'unfinished') return undefined;
    const { storedBytes, objectCount, seen, recent } = outcome;
    // Then there are more names than a shard can keep, and the scan tells nothing.
    if (recent === 'too many') return undefined;
    return {
      storedBytes,
      objectCount,
      countedAtMs: snapshot.countedAtMs,
      scanEndedMs: clock.nowMs(),
      seen: new Set([...seen.keys(), ...[...recent].filter(isOid)]),
    };
  }
}
