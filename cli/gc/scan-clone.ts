import { gitLines, startGit, writeLines } from '../git/git.ts';
import { blobsOf, incompleteClone, isPointerSize, oidsIn } from '../git/pointers.ts';

export interface ScannedClone {
  /** The oids to which some commit, index, stash or reflog points. */
  readonly oids: ReadonlySet<string>;
  /** Objects of git that were looked at. */
  readonly objectCount: number;
}

/**
 * Finds the LFS objects to which anything in a clone points: commits of all refs, reflogs and indexes, and those of the
 * remote's refs. Every file of less than 1,024 bytes with a line `oid sha256:` counts as a pointer, wherever it lies.
 *
 * @param input.commits beside what the clone's own refs have.
 * @param input.onProgress called now and then, with the number of objects of git so far.
 * @throws {CliError} if something is missing in the clone.
 */
export async function scanClone(
  clone: string,
  { commits, onProgress }: { commits: readonly string[]; onProgress?: (objectCount: number) => void },
): Promise<ScannedClone> {
  const list = startGit(clone, [
    ...['rev-list', '--objects', '--no-object-names'],
    ...['--all', '--reflog', '--indexed-objects', '--stdin'],
  ]);
  const check = startGit(clone, [
    ...['cat-file', '--buffer'],
    '--batch-check=%(objectname) %(objecttype) %(objectsize)',
  ]);
  const read = startGit(clone, ['cat-file', '--buffer', '--batch']);
  let objectCount = 0;
  async function* small() {
    for await (const line of gitLines(check)) {
      const [object = '', type, size] = line.split(' ');
      if (type === 'missing') throw incompleteClone(clone, object);
      objectCount += 1;
      if (objectCount % progressEvery === 0) onProgress?.(objectCount);
      if (type === 'blob' && isPointerSize(Number(size))) yield object;
    }
  }
  const oids = new Set<string>();
  const collect = async () => {
    for await (const { content } of blobsOf(read, clone)) for (const oid of oidsIn(content)) oids.add(oid);
  };
  try {
    await Promise.all([
      writeLines(list, new Set(commits)),
      writeLines(check, gitLines(list)),
      writeLines(read, small()),
      collect(),
    ]);
  } finally {
    // After a failure the others would wait for ever.
    for (const git of [list, check, read]) git.stop();
  }
  return { oids, objectCount };
}

const progressEvery = 10_000;
