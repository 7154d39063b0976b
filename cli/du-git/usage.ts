import { gitText, scanPointers } from '../git/git.ts';

/** Where an object is in the history of a clone. */
interface PathOfObject {
  readonly path: string;
  /** Whether the file at HEAD is this object. Otherwise it is an older version, or of another branch. */
  readonly isCurrent: boolean;
}

/**
 * Finds the files of a clone that are LFS objects: those of HEAD, and every version in the history of all refs. An object
 * that has several paths gets one that it has at HEAD, or else the first that git finds.
 *
 * @param input.onProgress called now and then, with the number of objects of git so far.
 * @returns oid → path.
 * @throws {CliError} if something is missing in the clone.
 */
export async function pathsOfObjects(
  clone: string,
  { onProgress }: { onProgress?: (objectCount: number) => void } = {},
): Promise<Map<string, PathOfObject>> {
  const current = await filesOfHead(clone);
  const paths = new Map<string, PathOfObject>();
  await scanPointers(clone, {
    list: ['--all'],
    onPointer: (oid, { object, path }) => {
      const atHead = current.get(object);
      if (atHead !== undefined) paths.set(oid, { path: atHead, isCurrent: true });
      else if (!paths.has(oid)) paths.set(oid, { path, isCurrent: false });
    },
    onProgress,
  });
  return paths;
}

/** Object of git → path of a file of HEAD. Empty if there is no commit yet. */
async function filesOfHead(clone: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  if ((await gitText(clone, ['rev-list', '--all', '--max-count=1'])) === '') return files;
  const hasHead = await gitText(clone, ['rev-parse', '--verify', '--quiet', 'HEAD']).catch(() => '');
  if (hasHead === '') return files;
  for (const entry of (await gitText(clone, ['ls-tree', '-r', '-z', '--full-tree', 'HEAD'])).split('\0')) {
    const [head = '', path] = entry.split('\t', 2);
    const [, type, object = ''] = head.split(' ');
    if (type === 'blob' && path !== undefined) files.set(object, path);
  }
  return files;
}

/** A file, with all versions of it that are stored. */
export interface PathSum {
  readonly path: string;
  /** Bytes of all objects, those of HEAD, and how many there are. */
  readonly bytes: number;
  readonly currentBytes: number;
  readonly objectCount: number;
}

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
