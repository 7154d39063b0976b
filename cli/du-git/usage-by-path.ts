import type { PathSum } from './path-tree.ts';
import type { PathOfObject } from './stored-paths.ts';

/** What is stored of a repo, by the paths that its objects have in a clone. */
export interface UsageByPath {
  /** The largest first. */
  readonly files: readonly PathSum[];
  readonly stored: Sum;
  /** Stored, but in no commit of the clone: of other clones, of branches that are gone, or of older history. */
  readonly inNoCommit: Sum;
  /** Keys of the repo that are no objects of git-lfs. */
  readonly others: Sum;
  /** Objects that a commit of the clone points to, and that are not stored. Perhaps nobody has pushed them yet. */
  readonly notStoredCount: number;
}

interface Sum {
  readonly bytes: number;
  readonly objectCount: number;
}

const plus = ({ bytes, objectCount }: Sum, size: number): Sum => ({
  bytes: bytes + size,
  objectCount: objectCount + 1,
});

const nothing: Sum = { bytes: 0, objectCount: 0 };

/**
 * Joins what is stored with the paths of a clone. Each object counts once.
 *
 * @param stored oid → bytes. @param paths oid → path.
 */
export function usageByPath(
  stored: ReadonlyMap<string, number>,
  paths: ReadonlyMap<string, PathOfObject>,
  others: Sum = nothing,
): UsageByPath {
  const files = new Map<string, PathSum>();
  let [all, inNoCommit] = [others, nothing];
  for (const [oid, size] of stored) {
    all = plus(all, size);
    const found = paths.get(oid);
    if (!found) {
      inNoCommit = plus(inNoCommit, size);
      continue;
    }
    const { path, isCurrent } = found;
    const file = files.get(path) ?? { path, bytes: 0, currentBytes: 0, objectCount: 0 };
    files.set(path, {
      path,
      bytes: file.bytes + size,
      currentBytes: file.currentBytes + (isCurrent ? size : 0),
      objectCount: file.objectCount + 1,
    });
  }
  const notStoredCount = [...paths.keys()].filter((oid) => !stored.has(oid)).length;
  const sorted = [...files.values()].sort((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1));
  return { files: sorted, stored: all, inNoCommit, others, notStoredCount };
}
