import { mapLimited } from '../rules/async.ts';
import { compareKeys, repoPrefix, tenantPrefix } from '../rules/names.ts';
import { listTenant, type TenantListing } from '../scan/find-stored.ts';
import { addingOld } from '../scan/page-in-range.ts';
import type { PathScanInput, PathScanOutcome } from '../scan/rules/scan-plan.ts';
import { type ListedPage, pageKeysMax, StoreUnavailableError } from '../store/rules/store.ts';
import type { CoreDeps } from './core-deps.ts';
import {
  endOf,
  type FlatPlan,
  type FlatRange,
  flatRangesAtOnce,
  planFlat,
  repoOfKey,
} from './rules/reconciliation.ts';
import type { RepoScan } from './rules/repo-reservations.ts';
import { type RepoRecord, unknownRepo } from './rules/tenant.ts';
import { type Lease, renewOrThrow, SupersededError } from './snapshot.ts';

export interface ScanFlatInput {
  readonly tenant: string;
  readonly plan: FlatPlan;
  /** The oids of a repo of which the result must say whether the scan saw them. */
  readonly lookFor: (repo: string) => ReadonlySet<string>;
  /** As in {@link ScanReposInput}. */
  readonly oldBeforeMs?: number;
  readonly deadlineMs?: number;
  /** Called after each LIST request, and awaited. */
  readonly onPage: () => Promise<void>;
}

type ScanFlatOutcome =
  | {
      readonly kind: 'done';
      /** Repo → what was found, for every repo that has objects and is not large. */
      readonly scans: ReadonlyMap<string, RepoScan>;
      /** Repos to scan on their own: those of the plan, and those that turned out to fill whole pages. */
      readonly large: ReadonlySet<string>;
    }
  /** The store does not list as S3 does. A scan of each repo can cope with that. */
  | { readonly kind: 'unordered' }
  | { readonly kind: 'unfinished' };

/**
 * Lists a tenant's path flat and assigns its keys to repos. A repo that fills a page is left out from there on: the
 * listing goes on behind it.
 *
 * Every key that exists during the whole listing is counted once, as in a scan.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function scanFlat(
  deps: Pick<CoreDeps, 'listing' | 'clock'>,
  input: ScanFlatInput,
): Promise<ScanFlatOutcome> {
  const found = new FlatCount(input);
  const isDone = await mapLimited(input.plan.ranges, flatRangesAtOnce, (range) =>
    listRange(deps, { ...input, range, found }),
  );
  if (found.isUnordered) return { kind: 'unordered' };
  return isDone.includes(false) ? { kind: 'unfinished' } : found.outcome();
}

/** @returns false if the deadline passed first. */
async function listRange(
  { listing, clock }: Pick<CoreDeps, 'listing' | 'clock'>,
  input: ScanFlatInput & { range: FlatRange; found: FlatCount },
): Promise<boolean> {
  const { range, found, oldBeforeMs, deadlineMs = Number.POSITIVE_INFINITY } = input;
  const prefix = tenantPrefix(input.tenant);
  let { after } = range;
  for (;;) {
    let page: ListedPage;
    try {
      if (clock.nowMs() >= deadlineMs) return false;
      page = await listing.listPage({
        prefix,
        ...(after !== null && { startAfter: prefix + after }),
        ...(oldBeforeMs !== undefined && { readsTimes: true }),
        ...(Number.isFinite(deadlineMs) && { deadlineMs }),
      });
    } catch (error) {
      if (error instanceof StoreUnavailableError && clock.nowMs() >= deadlineMs) return false;
      throw error;
    }
    after = found.add(page, { after, until: range.until });
    await input.onPage();
    if (after === null || found.isUnordered) return true;
  }
}

interface FlatSums {
  storedBytes: number;
  objectCount: number;
  oldBytes?: number;
  readonly seen: Map<string, number>;
}

/** Adds up pages, repo by repo. */
class FlatCount {
  readonly #prefixLength: number;
  readonly #lookFor: ScanFlatInput['lookFor'];
  readonly #large: Set<string>;
  readonly #oldBeforeMs: number | undefined;
  readonly #repos = new Map<string, FlatSums>();
  /** A page was not in the order of its keys' bytes, or empty though more follow. */
  isUnordered = false;

  constructor({ tenant, plan, lookFor, oldBeforeMs }: ScanFlatInput) {
    this.#oldBeforeMs = oldBeforeMs;
    this.#prefixLength = tenantPrefix(tenant).length;
    this.#large = new Set(plan.large);
    this.#lookFor = lookFor;
  }

  /**
   * Counts the keys of a page that lie in its range.
   *
   * @returns after which key the range goes on. null: it was listed to its end.
   */
  add(page: ListedPage, { after, until }: FlatRange): string | null {
    if (page.keyCount === 0) {
      this.isUnordered ||= page.isTruncated;
      return null;
    }
    let lookFor: ReadonlySet<string> = new Set();
    let repo: string | undefined;
    let key = after ?? '';
    for (let index = 0; index < page.keyCount; index += 1) {
      const next = page.keyAt(index).slice(this.#prefixLength);
      if (compareKeys(next, key) <= 0 && !(index === 0 && after === null)) {
        this.isUnordered = true;
        return null;
      }
      key = next;
      if (until !== null && compareKeys(key, until) > 0) return null;
      if (repoOfKey(key) !== repo) {
        repo = repoOfKey(key);
        lookFor = this.#lookFor(repo);
      }
      const lastModifiedMs = page.lastModifiedMsAt(index);
      const name = key.slice(repo.length + 1);
      this.#count(repo, { name, sizeBytes: page.sizeAt(index), lastModifiedMs, lookFor });
    }
    if (!page.isTruncated) return null;
    return this.#skipLarge(page, key);
  }

  #count(
    repo: string,
    object: {
      name: string;
      sizeBytes: number;
      lastModifiedMs: number | undefined;
      lookFor: ReadonlySet<string>;
    },
  ): void {
    const { name, sizeBytes, lastModifiedMs, lookFor } = object;
    const before = this.#oldBeforeMs;
    const none: FlatSums = { storedBytes: 0, objectCount: 0, seen: new Map() };
    const scanned = this.#repos.get(repo) ?? none;
    this.#repos.set(repo, scanned);
    if (before !== undefined)
      scanned.oldBytes = (scanned.oldBytes ?? 0) + ((lastModifiedMs ?? before) < before ? sizeBytes : 0);
    scanned.storedBytes += sizeBytes;
    scanned.objectCount += 1;
    if (lookFor.has(name)) scanned.seen.set(name, sizeBytes);
  }

  /** If one repo fills the page, it is scanned on its own, and the listing goes on behind it. */
  #skipLarge(page: ListedPage, lastKey: string): string {
    const repo = repoOfKey(lastKey);
    if (repo === '' || repoOfKey(page.keyAt(0).slice(this.#prefixLength)) !== repo) return lastKey;
    this.#large.add(repo);
    const end = endOf(repo);
    return compareKeys(end, lastKey) > 0 ? end : lastKey;
  }

  outcome(): ScanFlatOutcome {
    const scans = new Map([...this.#repos].filter(([repo]) => !this.#large.has(repo)));
    return { kind: 'done', scans, large: this.#large };
  }
}

/** Repos of unknown size that may each begin with 16 requests. If there are more, each begins with one page. */
const sixteenAtOnceReposMax = 4;
const reposAtOnce = 8;
/** Repos of unknown size that an initial scan scans one by one, at most. If there are more, they are listed together. */
const separateReposMax = 16;

export interface ScanReposInput {
  readonly tenant: string;
  /** Repos that the ledger knows. */
  readonly known: readonly RepoRecord[];
  /** Repos to scan. A full scan adds those that the ledger knows and those that the bucket lists. */
  readonly due: ReadonlySet<string>;
  readonly isFull: boolean;
  /** Repos that are counted by shards, and not here. */
  readonly largeRepos: ReadonlySet<string>;
  /** The oids of a repo of which the result must say whether the scan saw them. */
  readonly lookFor: (repo: string) => ReadonlySet<string>;
  /** Add up what was stored before this, which takes a tenth more CPU. */
  readonly oldBeforeMs?: number;
  /** Somebody waits for the outcome: more requests at a time. */
  readonly isAwaited: boolean;
  readonly deadlineMs?: number;
  /** Renewed after each page, and charged for each LIST request. */
  readonly lease: Lease;
}

export type ScanReposOutcome =
  | {
      readonly kind: 'done';
      /** Repo → what its scan found. */
      readonly scans: ReadonlyMap<string, RepoScan>;
      /** Repos that turned out to be large repos. They were not listed to their end. */
      readonly outgrown: readonly RepoRecord[];
      /** LIST requests. */
      readonly requests: number;
    }
  /** The deadline passed first. */
  | { readonly kind: 'unfinished' }
  /** Another reconcile took the lease. */
  | { readonly kind: 'superseded' };

/** Repo → what its scan found. undefined: the deadline passed first. */
type Scans = ReadonlyMap<string, RepoScan> | undefined;

/**
 * Scans the repos that are due: each on its own, or all together flat if that takes fewer requests. A full scan covers
 * every folder of the tenant. What lies beside the folders counts as the repo with the empty name.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function scanRepos(
  deps: Pick<CoreDeps, 'listing' | 'scan' | 'clock' | 'settings'>,
  input: ScanReposInput,
): Promise<ScanReposOutcome> {
  let requests = 0;
  const addRequests = (more: number) => {
    requests += more;
    input.lease.addRequests(more);
  };
  const outgrown = new Set<string>();
  try {
    const scans = await scanAll(deps, { ...input, lease: { ...input.lease, addRequests }, outgrown });
    return scans
      ? { kind: 'done', scans, outgrown: recordsOf(outgrown, input.known), requests }
      : { kind: 'unfinished' };
  } catch (error) {
    if (error instanceof SupersededError) return { kind: 'superseded' };
    throw error;
  }
}

/** What the ledger knows of these repos. */
function recordsOf(repos: Iterable<string>, known: readonly RepoRecord[]): RepoRecord[] {
  const records = new Map(known.map((record) => [record.repo, record]));
  return [...repos].map((repo) => records.get(repo) ?? unknownRepo(repo));
}

/** What is scanned, and the repos that turn out to be large repos. */
interface Scanning extends ScanReposInput {
  readonly outgrown: Set<string>;
}

async function scanAll(
  deps: Pick<CoreDeps, 'listing' | 'scan' | 'clock' | 'settings'>,
  input: Scanning,
): Promise<Scans> {
  const plan = chooseFlat(input);
  const flat = plan && (await scanFlatly(deps, input, plan));
  return flat ? flat.scans : scanSeparately(deps, input);
}

/** Lists the folders if they must be found, and then each repo on its own. */
async function scanSeparately(
  deps: Pick<CoreDeps, 'listing' | 'scan' | 'clock' | 'settings'>,
  input: Scanning,
): Promise<Scans> {
  // What lies beside the folders is known only from the listing that finds the folders.
  const isRootDue = input.isFull || input.due.has('');
  const root = isRootDue
    ? await listTenant(deps, { tenant: input.tenant, onPage: onPageOf(input.lease) })
    : undefined;
  const repos = selectRepos(input, root);
  if (root && repos.length > separateReposMax && input.known.length === 0) {
    const plan = planFlat(repos.map((repo) => ({ repo, objectCount: undefined })));
    const flat = await scanFlatly(deps, input, plan);
    if (flat) return flat.scans;
  }
  const scans = await scanEach(deps, { ...input, repos });
  if (scans && root) addRootObjects(scans, { root, known: input.known });
  return scans;
}

/** The plan of a flat listing, if that is expected to take fewer requests than listing each repo on its own. */
function chooseFlat({ known, due, isFull, largeRepos }: ScanReposInput): FlatPlan | undefined {
  // The initial scan knows nothing to plan with.
  if (isFull && known.length === 0) return undefined;
  const hints = hintsOf(known);
  // A flat listing leaves them out, as it does all large repos.
  for (const repo of largeRepos) hints.set(repo, Number.MAX_SAFE_INTEGER);
  const names = new Set([...known.map(({ repo }) => repo), ...due]);
  const plan = planFlat([...names].map((repo) => ({ repo, objectCount: hints.get(repo) })));
  const isSeparate = (repo: string) => repo !== '' && !plan.large.has(repo) && (isFull || due.has(repo));
  const folderPages = isFull || due.has('') ? Math.ceil((names.size + 1) / pageKeysMax) : 0;
  const separateRequests = folderPages + [...names].filter(isSeparate).length;
  return plan.requests < separateRequests ? plan : undefined;
}

/** Lists the tenant flat, and the large repos that are due on their own. @returns undefined if that cannot be done. */
async function scanFlatly(
  deps: Pick<CoreDeps, 'listing' | 'scan' | 'clock' | 'settings'>,
  input: Scanning,
  plan: FlatPlan,
): Promise<{ scans: Scans } | undefined> {
  const { known, due, isFull, largeRepos, lease } = input;
  const flat = await scanFlat(deps, { ...input, plan, onPage: onPageOf(lease) });
  if (flat.kind === 'unordered') return undefined;
  if (flat.kind === 'unfinished') return { scans: undefined };
  const repos = [...flat.large].filter(
    (repo) => !largeRepos.has(repo) && (isFull || due.has(repo) || !plan.large.has(repo)),
  );
  const large = await scanEach(deps, { ...input, repos });
  if (!large) return { scans: undefined };
  const scans = new Map([...flat.scans, ...large]);
  // Of what was not listed, nothing is there.
  for (const repo of [...known.map((record) => record.repo), ...due]) {
    if (!scans.has(repo) && !flat.large.has(repo) && !largeRepos.has(repo))
      scans.set(repo, { storedBytes: 0, objectCount: 0, seen: new Set() });
  }
  return { scans };
}

/** Scans each of these repos on its own. @returns undefined if the deadline passed first. */
async function scanEach(
  deps: Pick<CoreDeps, 'scan' | 'settings'>,
  input: Scanning & { repos: readonly string[] },
): Promise<Map<string, RepoScan> | undefined> {
  const { repos } = input;
  const hints = hintsOf(input.known);
  const withoutHint = repos.filter((repo) => !hints.has(repo)).length;
  const isAwaited = input.isAwaited && withoutHint <= sixteenAtOnceReposMax;
  // One that is being emptied.
  const closed = input.known.filter(({ closedAtMs }) => closedAtMs !== null);
  const ordinary = new Set(closed.map(({ repo }) => repo));
  const scans = new Map<string, RepoScan>();
  const isDone = await mapLimited(repos, reposAtOnce, async (repo) => {
    const mayOutgrow = repo !== '' && !ordinary.has(repo) && !input.isAwaited;
    const hintObjects = hints.get(repo);
    const outcome = await scanRepo(deps, { ...input, repo, hintObjects, isAwaited, mayOutgrow });
    if (outcome === 'outgrown') input.outgrown.add(repo);
    else if (outcome.kind === 'done') scans.set(repo, outcome);
    return outcome === 'outgrown' || outcome.kind === 'done';
  });
  return isDone.includes(false) ? undefined : scans;
}

/** Repo → objects that its last scan found. */
function hintsOf(known: readonly RepoRecord[]): Map<string, number> {
  return new Map(known.filter(({ epoch }) => epoch > 0).map((record) => [record.repo, record.objectCount]));
}

function onPageOf(lease: Lease): () => Promise<void> {
  return () => {
    lease.addRequests(1);
    return renewOrThrow(lease);
  };
}

/** Names, each once. */
function selectRepos(input: ScanReposInput, root: TenantListing | undefined): string[] {
  const known = input.known.map(({ repo }) => repo).filter((repo) => repo !== '');
  const all = new Set([...known, ...input.due, ...(root?.folders ?? [])]);
  return [...all].filter((repo) => !input.largeRepos.has(repo) && (input.isFull || input.due.has(repo)));
}

/** LIST requests after which a repo may turn out to be a large repo: twice those of the largest that is none. */
function outgrownLists({ largeRepoObjects }: Pick<CoreDeps['settings'], 'largeRepoObjects'>): number {
  return Math.ceil((2 * largeRepoObjects) / pageKeysMax);
}

/** @returns `outgrown`: it is a large repo, and was not listed to its end. */
async function scanRepo(
  deps: Pick<CoreDeps, 'scan' | 'settings'>,
  input: ScanReposInput & { repo: string; hintObjects: number | undefined; mayOutgrow: boolean },
): Promise<(PathScanOutcome & { oldBytes?: number }) | 'outgrown'> {
  const { tenant, repo, hintObjects, isAwaited, oldBeforeMs, deadlineMs, lease } = input;
  const { largeRepoObjects } = deps.settings;
  const listsMax = outgrownLists(deps.settings);
  // Of all that is counted, also by a scan that goes on with what the first one left.
  const old = oldBeforeMs === undefined ? undefined : addingOld(oldBeforeMs);
  const scan = async (more: Pick<PathScanInput, 'requestsMax' | 'resume'>) => {
    let charged = 0;
    const charge = (requests: number) => {
      // While somebody waits, the lease ends it. One that is emptied may take more, and would use up the budget of hours.
      const due = input.isAwaited ? requests : Math.min(requests, listsMax);
      lease.addRequests(due - charged);
      charged = due;
    };
    const outcome = await deps.scan.scan({
      prefix: repoPrefix({ tenant, repo }),
      isAwaited,
      ...(hintObjects !== undefined && { hintObjects }),
      lookFor: input.lookFor(repo),
      ...(deadlineMs !== undefined && { deadlineMs }),
      ...old?.options,
      ...more,
      onPage: (progress) => {
        charge(progress.requests);
        return renewOrThrow(lease);
      },
    });
    charge(outcome.requests);
    return old ? { ...outcome, oldBytes: old.found.oldBytes } : outcome;
  };
  if (!input.mayOutgrow) return scan({});
  const outcome = await scan({ requestsMax: listsMax });
  if (outcome.kind === 'done' || outcome.requests < listsMax) return outcome;
  return outcome.rest.objectCount >= largeRepoObjects ? 'outgrown' : scan({ resume: outcome.rest });
}

/** The repo with the empty name: the objects beside the folders, and those in the folder without a name. */
function addRootObjects(
  scans: Map<string, RepoScan>,
  { root, known }: { root: TenantListing; known: readonly RepoRecord[] },
): void {
  const nameless = scans.get('');
  const storedBytes = root.rootObjects.storedBytes + (nameless?.storedBytes ?? 0);
  const objectCount = root.rootObjects.objectCount + (nameless?.objectCount ?? 0);
  if (objectCount > 0 || known.some(({ repo }) => repo === '')) {
    scans.set('', { storedBytes, objectCount, seen: new Set() });
  }
}
