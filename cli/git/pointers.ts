import { CliError } from '../errors.ts';
import type { GitProcess } from './git.ts';

/** git-lfs takes no larger file for a pointer. */
const pointerBytesMax = 1024;
const newline = 0x0a;

/** Whether a file of this many bytes may be a pointer. */
export function isPointerSize(bytes: number): boolean {
  return bytes < pointerBytesMax;
}

/** The oids of all lines `oid sha256:…` of a file. */
export function oidsIn(content: Buffer): string[] {
  const lines = content.toString('latin1').matchAll(/^oid sha256:([0-9a-f]{64})\r?$/gm);
  return [...lines].map(([, oid = '']) => oid);
}

/** An object of git, as `cat-file --batch` prints it. */
interface Blob {
  /** The name of the object, and whatever else the format of the line has. */
  readonly line: string;
  readonly content: Buffer;
}

/**
 * What `cat-file --batch` prints: for each object a line, its bytes, and the end of a line. The line must be
 * `%(objectname) %(objecttype) %(objectsize)`, which is what git prints by itself, and may have more after that.
 *
 * @throws {CliError} if the clone lacks an object.
 */
export async function* blobsOf(git: GitProcess, clone: string): AsyncGenerator<Blob> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of git.stdout as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    for (;;) {
      const end = rest.indexOf(newline, at);
      if (end < 0) break;
      const line = rest.subarray(at, end).toString('utf8');
      const [object = '', type, size] = line.split(' ', 3);
      if (type === 'missing') throw incompleteClone(clone, object);
      const last = end + 1 + Number(size);
      if (last >= rest.length) break;
      yield { line, content: rest.subarray(end + 1, last) };
      at = last + 1;
    }
    rest = rest.subarray(at);
  }
  await git.ended;
  if (rest.length > 0)
    throw new CliError(`git did not print the objects of ${clone} to their end.`, {
      hint: `See what it lacks: git -C ${clone} fsck`,
    });
}

/** A clone that has not all of its objects. */
export function incompleteClone(clone: string, object: string): CliError {
  return new CliError(`The clone ${clone} lacks the object ${object}.`, {
    hint: 'Make another: git clone --mirror URL',
  });
}
