import { CliError } from '../errors.ts';
import { type GitProcess, gitLines, startGit, writeLines } from './git.ts';

/** git-lfs takes no larger file for a pointer. */
const pointerBytesMax = 1024;
const newline = 0x0a;

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
      if (type === 'missing') throw incomplete(clone, object);
      objectCount += 1;
      if (objectCount % progressEvery === 0) onProgress?.(objectCount);
      if (type === 'blob' && Number(size) < pointerBytesMax) yield object;
    }
  }
  const oids = new Set<string>();
  const collect = async () => {
    for await (const content of contentsOf(read, clone))
      for (const [, oid = ''] of content.toString('latin1').matchAll(/^oid sha256:([0-9a-f]{64})\r?$/gm))
        oids.add(oid);
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

/** What `cat-file --batch` prints: for each object a line with its size, its bytes, and the end of a line. */
async function* contentsOf(git: GitProcess, clone: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of git.stdout as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    for (;;) {
      const end = rest.indexOf(newline, at);
      if (end < 0) break;
      const [object = '', type, size] = rest.subarray(at, end).toString('latin1').split(' ');
      if (type === 'missing') throw incomplete(clone, object);
      const last = end + 1 + Number(size);
      if (last >= rest.length) break;
      yield rest.subarray(end + 1, last);
      at = last + 1;
    }
    rest = rest.subarray(at);
  }
  await git.ended;
  if (rest.length > 0) throw new CliError(`git did not print the objects of ${clone} to their end.`);
}

function incomplete(clone: string, object: string): CliError {
  return new CliError(`The clone ${clone} lacks the object ${object}.`, {
    hint: 'Make another: git clone --mirror URL',
  });
}
