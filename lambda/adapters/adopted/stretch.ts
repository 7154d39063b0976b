import type { AdoptedRepo } from '../../domain/adopted-repo.ts';
import { type AdoptedRepos, keyIn } from '../../domain/adopted-repos.ts';
import { compareKeys } from '../../domain/key-order.ts';
import { repoPrefix } from '../../domain/names.ts';
import { endOfGap, storedAfter, storedBeginning } from '../../domain/stored-names.ts';
import type { ListedPage } from '../../ports/object-listing.ts';

/**
 * A stretch of keys that lie together in the bucket, in the same order. The keys of a tenant are several: between its own
 * keys are those of its adopted repos, each in its place.
 */
export interface Stretch {
  /** What to ask the store for. undefined: nothing can be stored there. */
  readonly storedPrefix: string | undefined;
  /** Where to begin, to list what comes after a key, or all. undefined: at the beginning. */
  storedAfter(key: string | undefined): string | undefined;
  /** The key of what is stored under one. undefined: it is hidden, and the listing passes over it. */
  keyOf(storedKey: string): string | undefined;
  /** Whether the listing has passed the end of the stretch. */
  isPast(storedKey: string): boolean;
  /** How far to skip from something hidden. */
  skipFrom(storedKey: string): string;
  /** Whether all keys of the stretch come before this one, or are it. */
  isOver(key: string): boolean;
}

/** Objects of an adopted repo. @param prefix of their keys, with all of `{tenant}/{repo}/`. */
export function adoptedStretch(repo: AdoptedRepo, prefix: string): Stretch {
  const { path, names } = repo;
  const base = repoPrefix(repo);
  const beginning = storedBeginning(names, prefix.slice(base.length));
  return {
    storedPrefix: beginning === undefined ? undefined : path + beginning,
    storedAfter: (key) =>
      key?.startsWith(base) ? path + storedAfter(names, key.slice(base.length)) : undefined,
    keyOf: (storedKey) => keyIn(repo, storedKey),
    isPast: () => false,
    skipFrom: (storedKey) => path + endOfGap(names, storedKey.slice(path.length)),
    // No oid begins with a letter behind f.
    isOver: (key) => compareKeys(key, `${base}g`) >= 0,
  };
}

/** Keys that are stored as they are, between two adopted repos. null: from the first, or up to the last key. */
function ownStretch(
  repos: AdoptedRepos,
  stretch: { prefix: string; from: AdoptedRepo | null; to: AdoptedRepo | null },
): Stretch {
  const { prefix, from, to } = stretch;
  const end = to && repoPrefix(to);
  // After what is hidden below the repo's own path. What is not, of names that are no oids, is passed over.
  const begin = from && `${repoPrefix(from)}~`;
  return {
    storedPrefix: prefix,
    storedAfter: (key) =>
      begin !== null && (key === undefined || compareKeys(key, begin) < 0) ? begin : key,
    keyOf: (storedKey) => (repos.at(storedKey) ? undefined : storedKey),
    isPast: (storedKey) => end !== null && compareKeys(storedKey, end) >= 0,
    skipFrom: (storedKey) => storedKey,
    isOver: (key) => end !== null && compareKeys(key, end) >= 0,
  };
}

/** The keys with a prefix, in order. @param below the adopted repos that all lie below it, in the order of their keys. */
export function stretchesOf(
  repos: AdoptedRepos,
  { prefix, below }: { prefix: string; below: readonly AdoptedRepo[] },
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  let from: AdoptedRepo | null = null;
  for (const repo of below) {
    stretches.push(ownStretch(repos, { prefix, from, to: repo }), adoptedStretch(repo, repoPrefix(repo)));
    from = repo;
  }
  return [...stretches, ownStretch(repos, { prefix, from, to: null })];
}

/** Which keys of a page belong to a stretch. */
export function keptOf(
  stretch: Stretch,
  page: ListedPage,
): { indexes: readonly number[] | undefined; keyCount: number; isPast: boolean } {
  const indexes: number[] = [];
  for (let index = 0; index < page.keyCount; index += 1) {
    const storedKey = page.keyAt(index);
    if (stretch.isPast(storedKey)) return { indexes, keyCount: indexes.length, isPast: true };
    if (stretch.keyOf(storedKey) !== undefined) indexes.push(index);
  }
  const isWhole = indexes.length === page.keyCount;
  return { indexes: isWhole ? undefined : indexes, keyCount: indexes.length, isPast: false };
}
