import type { Deps } from '../../deps.ts';
import {
  endOf,
  type FlatPlan,
  type FlatRange,
  flatRangesAtOnce,
  repoOfKey,
} from '../../domain/flat-listing.ts';
import type { RepoScan } from '../../domain/repo-reservations.ts';
import { mapLimited } from '../../rules/async.ts';
import { compareKeys, tenantPrefix } from '../../rules/names.ts';
import { type ListedPage, StoreUnavailableError } from '../../store/rules/store.ts';

export interface ScanFlatInput {
  readonly tenant: string;
  readonly plan: FlatPlan;
  /** The oids of a repo of which the result must say whether the scan saw them. */
  readonly lookFor: (repo: string) => ReadonlySet<string>;
  readonly deadlineMs?: number;
  /** Called after each LIST request, and awaited. */
  readonly onPage: () => Promise<void>;
}

export type ScanFlatOutcome =
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
  deps: Pick<Deps, 'listing' | 'clock'>,
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
  { listing, clock }: Pick<Deps, 'listing' | 'clock'>,
  input: ScanFlatInput & { range: FlatRange; found: FlatCount },
): Promise<boolean> {
  const { range, found, deadlineMs = Number.POSITIVE_INFINITY } = input;
  const prefix = tenantPrefix(input.tenant);
  let { after } = range;
  for (;;) {
    let page: ListedPage;
    try {
      if (clock.nowMs() >= deadlineMs) return false;
      page = await listing.listPage({
        prefix,
        ...(after !== null && { startAfter: prefix + after }),
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

/** Adds up pages, repo by repo. */
class FlatCount {
  readonly #prefixLength: number;
  readonly #lookFor: ScanFlatInput['lookFor'];
  readonly #large: Set<string>;
  readonly #repos = new Map<string, { storedBytes: number; objectCount: number; seen: Set<string> }>();
  /** A page was not in the order of its keys' bytes, or empty though more follow. */
  isUnordered = false;

  constructor({ tenant, plan, lookFor }: ScanFlatInput) {
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
      this.#count(repo, { name: key.slice(repo.length + 1), sizeBytes: page.sizeAt(index), lookFor });
    }
    if (!page.isTruncated) return null;
    return this.#skipLarge(page, key);
  }

  #count(repo: string, object: { name: string; sizeBytes: number; lookFor: ReadonlySet<string> }): void {
    const { name, sizeBytes, lookFor } = object;
    const counted = this.#repos.get(repo) ?? { storedBytes: 0, objectCount: 0, seen: new Set<string>() };
    this.#repos.set(repo, counted);
    counted.storedBytes += sizeBytes;
    counted.objectCount += 1;
    if (lookFor.has(name)) counted.seen.add(name);
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
