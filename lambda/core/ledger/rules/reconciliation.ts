import { compareKeys } from '../../rules/names.ts';
import type { Settings } from '../../rules/settings.ts';
import { pageKeysMax } from '../../store/rules/store.ts';
import {
  addCount,
  type EntrySums,
  type OpenScan,
  type RepoReservations,
  type RepoScan,
  type ScannedRepo,
  type UnconfirmedShare,
} from './repo-reservations.ts';
import {
  crowdedEntries,
  isProvenOfFiles,
  type RepoRecord,
  type TenantRecord,
  type UnconfirmedLoad,
  unconfirmedMakersMax,
} from './tenant.ts';

/** Repo → its reservations. */
export type ReservationsByRepo = ReadonlyMap<string, RepoReservations>;

/**
 * Repos whose count may be out of date: those that are dirty, that have a reservation no scan has covered, or that a
 * delete is noted for, whether its deleter lives or died.
 */
export function reposToScan(input: {
  repos: readonly RepoRecord[];
  reservations: ReservationsByRepo;
  tenant: TenantRecord;
  nowMs: number;
}): Set<string> {
  const { nowMs } = input;
  const due = new Set(input.repos.filter((repo) => repo.dirtyToken !== null).map((repo) => repo.repo));
  const coveredIn = new Map(input.repos.map((repo) => [repo.repo, repo.covered]));
  for (const [repo, reservations] of input.reservations) {
    if (reservations.needScan({ covered: coveredIn.get(repo) ?? new Set(), nowMs })) due.add(repo);
  }
  for (const note of input.tenant.intents.values()) due.add(note.repo);
  return due;
}

/**
 * Notes that one commit removes, at most: DynamoDB takes no update expression above 4,096 bytes, which 230 notes
 * would fill. Leaving some is safe. The confirmed usage of the commit has the bytes of all notes taken off, and a note that
 * stays takes them off the next one too, so the confirmed usage is never too high. Its repo is scanned once more.
 */
const expiredIntentsMax = 100;

/** Ids of notes whose delete can no longer be running, whichever clock is asked. The oldest come first. */
export function expiredIntents(settings: Settings, tenant: TenantRecord, nowMs: number): string[] {
  return [...tenant.intents]
    .filter(([, note]) => nowMs > note.deadlineMs + 2 * settings.clockSkewMs)
    .sort(([, a], [, b]) => a.deadlineMs - b.deadlineMs)
    .slice(0, expiredIntentsMax)
    .map(([id]) => id);
}

export interface Recomputed {
  readonly storedBytes: number;
  readonly objectCount: number;
  /** Stored plus everything that may still arrive, at its largest. The counter is corrected to this. */
  readonly totalBytes: number;
  /** Stored plus what issued reservations may still bring, at its smallest. The confirmed usage before deletes are taken off. */
  readonly leastBytes: number;
  /**
   * `leastBytes` holds until then: the first of the reservations that it counts may be lapsed after that, and its entries
   * are no longer taken up. 2^53 − 1 if it counts none.
   */
  readonly leastUntilMs: number;
  /** When the last upload of which `totalBytes` holds bytes can no longer arrive. null: nothing is promised. */
  readonly reservedUntilMs: number | null;
  /** undefined: nobody has claimed that much of what is late, or that many. */
  readonly unconfirmed?: UnconfirmedLoad | undefined;
  /** When the newest reservation was created of which uploads may still be under way. null: there is none. */
  readonly newestUploadMs: number | null;
  /** Reservations that were read, live and lapsed, and their entries. */
  readonly entryCount: number;
}

/**
 * Computes a tenant's values from the counts of its repos and from what its reservations may still bring.
 *
 * Late reservations count only by what they exceed the tenant's limit by. So people whose uploads broke off get their
 * room back once the reservations are lapsed, and yet whatever arrives late, no more than twice the limit is stored.
 *
 * Why twice, and no more: stored and live bytes are within the limit together with what is late beyond it. What is late
 * below it is up to the limit again. A delete only moves bytes from stored to late. If the limit changes, the highest
 * one of the day counts.
 *
 * @param input.scans repo → what this reconcile's scan found. For other repos, the last count still holds.
 */
export function recompute(input: {
  repos: readonly RepoRecord[];
  scans: ReadonlyMap<string, RepoScan>;
  reservations: ReservationsByRepo;
  limitBytes: number | null;
  /**
   * Before the reservations were read. One that died since counts as alive: a batch that reserves meanwhile may have
   * found it alive, and rely on it.
   */
  scannedAtMs: number;
  /** Repos whose initial scan as a large repo goes on. */
  behind?: ReadonlySet<string>;
  /** Names that empty objects take: a reconcile has to hold them, too. */
  emptiedCount?: number;
  settings: Settings;
}): Recomputed {
  const { scans } = input;
  const { clockSkewMs } = input.settings;
  const scannedRepo = scannedRepos(input);
  const unchanged = input.repos.filter((repo) => !scans.has(repo.repo));
  const counts = [...scans.values(), ...unchanged];
  const storedBytes = counts.reduce((sum, repo) => sum + repo.storedBytes, 0);

  const live = { mostBytes: 0, leastBytes: 0, leastUntilMs: Number.MAX_SAFE_INTEGER, mostUntilMs: 0 };
  const unconfirmed = { ...live };
  const unconfirmedBy = new Map<string, UnconfirmedShare>();
  const countBy = new Map<string, OpenScan>();
  let entryCount = input.emptiedCount ?? 0;
  let newestUploadMs: number | null = null;
  for (const [repo, reservations] of input.reservations) {
    const open = reservations.openEntries({
      scanned: scannedRepo(repo),
      nowMs: input.scannedAtMs,
      clockSkewMs,
    });
    addSums(live, open.live);
    addSums(unconfirmed, open.unconfirmed);
    for (const [madeBy, share] of open.unconfirmedBy) {
      const { bytes = 0, untilMs = 0 } = unconfirmedBy.get(madeBy) ?? {};
      unconfirmedBy.set(madeBy, { bytes: bytes + share.bytes, untilMs: Math.max(untilMs, share.untilMs) });
    }
    for (const [madeBy, count] of open.countBy) addCount(countBy, madeBy, count);
    if (open.newestIssuedMs !== null)
      newestUploadMs = Math.max(open.newestIssuedMs, newestUploadMs ?? open.newestIssuedMs);
    entryCount += reservations.count + reservations.entryCount;
  }
  const unconfirmedFreeBytes = input.limitBytes ?? Number.POSITIVE_INFINITY;
  const unconfirmedMostBytes = Math.max(0, unconfirmed.mostBytes - unconfirmedFreeBytes);
  const unconfirmedLeastBytes = Math.max(0, unconfirmed.leastBytes - unconfirmedFreeBytes);
  const mostUntilMs = Math.max(live.mostUntilMs, unconfirmedMostBytes > 0 ? unconfirmed.mostUntilMs : 0);
  return {
    storedBytes,
    objectCount: counts.reduce((total, repo) => total + repo.objectCount, 0),
    totalBytes: storedBytes + live.mostBytes + unconfirmedMostBytes,
    leastBytes: storedBytes + live.leastBytes + unconfirmedLeastBytes,
    leastUntilMs:
      unconfirmedLeastBytes > 0 ? Math.min(live.leastUntilMs, unconfirmed.leastUntilMs) : live.leastUntilMs,
    reservedUntilMs: mostUntilMs > 0 ? mostUntilMs : null,
    newestUploadMs,
    entryCount,
    unconfirmed: loadOf({
      unconfirmedBy,
      countBy,
      bytes: unconfirmed.mostBytes,
      limitBytes: input.limitBytes,
    }),
  };
}

function loadOf(found: {
  unconfirmedBy: ReadonlyMap<string, UnconfirmedShare>;
  countBy: ReadonlyMap<string, OpenScan>;
  bytes: number;
  limitBytes: number | null;
}): UnconfirmedLoad | undefined {
  const { unconfirmedBy, countBy, bytes, limitBytes } = found;
  const largeBytes = (limitBytes ?? Number.POSITIVE_INFINITY) / unconfirmedMakersMax;
  const large = [...unconfirmedBy].filter(([, share]) => share.bytes > largeBytes);
  const many = [...countBy].filter(([, { entries }]) => entries > crowdedEntries);
  if (large.length + many.length === 0) return undefined;
  const crowd = new Map(many.map(([madeBy, { untilMs }]) => [madeBy, untilMs]));
  const most = large.sort(([, a], [, b]) => b.bytes - a.bytes).slice(0, unconfirmedMakersMax);
  const makers = new Map(most.map(([madeBy, { untilMs }]) => [madeBy, untilMs]));
  return { bytes, makers, ...(crowd.size > 0 && { crowd }) };
}

/** The same for each repo that has a limit: as if it were a tenant of its own. */
export function recomputeLimited(
  input: Omit<Parameters<typeof recompute>[0], 'limitBytes'> & { repoLimits: TenantRecord['repoLimits'] },
): Map<string, Recomputed> {
  const { repos, scans, reservations } = input;
  const only = <T>(map: ReadonlyMap<string, T>, repo: string) => {
    const value = map.get(repo);
    return new Map(value === undefined ? [] : [[repo, value]]);
  };
  return new Map(
    [...input.repoLimits].map(([repo, { limitBytes }]) => [
      repo,
      recompute({
        ...input,
        repos: repos.filter((record) => record.repo === repo),
        scans: only(scans, repo),
        reservations: only(reservations, repo),
        limitBytes,
      }),
    ]),
  );
}

/** What a reconcile knows of each repo, by its name. */
export function scannedRepos(input: {
  repos: readonly RepoRecord[];
  scans: ReadonlyMap<string, RepoScan>;
  behind?: ReadonlySet<string>;
}): (repo: string) => ScannedRepo {
  const records = new Map(input.repos.map((record) => [record.repo, record]));
  return (repo) => ({
    scan: input.scans.get(repo),
    isBehind: input.behind?.has(repo) ?? false,
    covered: records.get(repo)?.covered ?? new Set(),
    isOfFiles: isProvenOfFiles(records.get(repo)),
  });
}

function addSums(total: { -readonly [K in keyof EntrySums]: EntrySums[K] }, more: EntrySums): void {
  total.mostBytes += more.mostBytes;
  total.leastBytes += more.leastBytes;
  total.leastUntilMs = Math.min(total.leastUntilMs, more.leastUntilMs);
  total.mostUntilMs = Math.max(total.mostUntilMs, more.mostUntilMs);
}

/**
 * True if a full scan found exactly the values in the ledger, and nothing is under way: no upload, no delete.
 */
export function isUnchanged(input: {
  before: TenantRecord;
  recomputed: Recomputed;
  repos: readonly RepoRecord[];
  reservations: ReservationsByRepo;
}): boolean {
  const { before, recomputed } = input;
  return (
    before.scanned?.storedBytes === recomputed.storedBytes &&
    before.scanned.objectCount === recomputed.objectCount &&
    before.committedBytes === recomputed.totalBytes &&
    before.intents.size === 0 &&
    input.reservations.size === 0 &&
    input.repos.every((repo) => repo.dirtyToken === null && repo.closedAtMs === null)
  );
}

/**
 * When to list a tenant's path flat, instead of each repo on its own. A listing of a repo costs at least one request. A
 * flat page has 1,000 keys of as many repos as there are.
 */

/** A repo, and how many objects its last scan found. undefined: it was never scanned. */
interface SizedRepo {
  readonly repo: string;
  readonly objectCount: number | undefined;
}

/** A range of keys below the tenant's prefix: those after `after` (null: from the first) up to and including `until`. */
export interface FlatRange {
  readonly after: string | null;
  /** null: to the last. */
  readonly until: string | null;
}

interface PlannedRange extends FlatRange {
  /** LIST requests that it is expected to take. */
  readonly requests: number;
}

export interface FlatPlan {
  /** Repos of a page or more. Each is scanned on its own, and the ranges leave them out. */
  readonly large: ReadonlySet<string>;
  readonly ranges: readonly PlannedRange[];
  /** LIST requests that the ranges are expected to take together. */
  readonly requests: number;
}

/** Ranges that are listed at the same time. */
export const flatRangesAtOnce = 8;
/** Objects that a range of several is expected to have, at least. Each range costs up to one request more. */
const rangeObjectsMin = 2000;
/** What a repo of unknown size is taken for. */
const unknownObjects = 10;

/** How a tenant with these repos would be listed flat. */
export function planFlat(repos: readonly SizedRepo[]): FlatPlan {
  const sized = repos
    .map(({ repo, objectCount = unknownObjects }) => ({ repo, objectCount }))
    .sort((a, b) => compareKeys(`${a.repo}/`, `${b.repo}/`));
  const isLarge = ({ repo, objectCount }: (typeof sized)[number]) =>
    repo !== '' && objectCount >= pageKeysMax;
  const total = sized.reduce((sum, repo) => sum + (isLarge(repo) ? 0 : repo.objectCount), 0);
  const rangeObjects = Math.max(rangeObjectsMin, Math.ceil(total / flatRangesAtOnce));
  const ranges: PlannedRange[] = [];
  let after: string | null = null;
  let objects = 0;
  const end = (until: string | null) =>
    ranges.push({ after, until, requests: Math.max(1, Math.ceil(objects / pageKeysMax)) });
  for (const repo of sized) {
    if (isLarge(repo)) end(beginOf(repo.repo));
    else {
      objects += repo.objectCount;
      if (objects < rangeObjects) continue;
      end(endOf(repo.repo));
    }
    after = endOf(repo.repo);
    objects = 0;
  }
  end(null);
  const large = new Set(sized.filter(isLarge).map(({ repo }) => repo));
  return { large, ranges, requests: ranges.reduce((sum, { requests }) => sum + requests, 0) };
}

/** No key of the repo is before this. */
function beginOf(repo: string): string {
  return `${repo}/`;
}

/** No oid of the repo is after this. Other names may be, so a reader must not rely on it. */
export function endOf(repo: string): string {
  return `${repo}/~`;
}

/** The repo of a key below the tenant's prefix. Keys beside the folders belong to the repo with the empty name. */
export function repoOfKey(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}
