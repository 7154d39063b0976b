import { compareKeys } from '../rules/names.ts';
import { pageKeysMax } from '../scan/rules/key-space.ts';

/**
 * When to list a tenant's path flat, instead of each repo on its own. A listing of a repo costs at least one request. A
 * flat page has 1,000 keys of as many repos as there are.
 */

/** A repo, and how many objects its last scan found. undefined: it was never scanned. */
export interface SizedRepo {
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
