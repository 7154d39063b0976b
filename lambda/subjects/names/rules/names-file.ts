import { createGunzip } from 'node:zlib';
import * as z from 'zod';
import { parseJson } from '../../../core/rules/text.ts';

/**
 * The file with the names that a clone has for a repo's objects. It's a gzip of UTF-8 lines. The first is JSON with {@link NamesHead}.
 * Each other one is an object that was stored: oid, bytes, seconds since 1970 of the commit that put it there last, that commit, the
 * branch or tag that has it, and the path, with tabs between them. What isn't known is empty. The path is as in JSON, without quotes.
 */

/** Bytes of a file that is sent, at most: of about a million objects. */
export const namesBytesMax = 64 * 1024 ** 2;
/** Of what is in it. A file of the sizes above that unpacks to more was made to harm. */
const textBytesMax = 512 * 1024 ** 2;
/** Of the text that is held. */
const pieceBytes = 256 * 1024;
/** In UTF-8. A longer path is left out. */
export const pathBytesMax = 4096;
/** Beside the path there are an oid, a commit, and a branch, and a character of a path takes up to six. */
const lineCharactersMax = 6 * pathBytesMax + 1024;

const headSchema = z.looseObject({
  version: z.literal(1),
  madeAtMs: z.number().min(0).max(8.64e15),
  /** The branch that a clone checks out, and where it was. */
  branch: z.string().optional(),
  commit: z.string().optional(),
});
export type NamesHead = z.output<typeof headSchema>;

export interface NamedObject {
  readonly oid: string;
  readonly sizeBytes: number;
  /** When the last commit that put it there was made. null: it's in no commit. */
  readonly committedMs: number | null;
  readonly commit: string | null;
  /** A branch or tag that has it, the default branch first. null: none. */
  readonly ref: string | null;
  readonly path: string | null;
}

export const headLine = (head: NamesHead) => `${JSON.stringify(head)}\n`;

export function nameLine({ oid, sizeBytes, committedMs, commit, ref, path }: NamedObject): string {
  const seconds = committedMs === null ? '' : Math.floor(committedMs / 1000);
  const shown =
    path === null || Buffer.byteLength(path) > pathBytesMax ? '' : JSON.stringify(path).slice(1, -1);
  return `${oid}\t${sizeBytes}\t${seconds}\t${commit ?? ''}\t${ref ?? ''}\t${shown}\n`;
}

/** A file isn't one of names, or is cut. */
export class UnreadableNamesError extends Error {
  override readonly name = 'UnreadableNamesError';
}

/**
 * Reads a file, and holds a piece of its text at a time.
 *
 * @param onLine hears of each object.
 * @throws {UnreadableNamesError}
 */
export async function readNames(file: Uint8Array, onLine: (line: NameLine) => void): Promise<NamesHead> {
  const unpacked = createGunzip({ chunkSize: pieceBytes });
  unpacked.end(file);
  const decoder = new TextDecoder();
  let [head, rest, textBytes]: [NamesHead | undefined, string, number] = [undefined, '', 0];
  try {
    for await (const piece of unpacked as AsyncIterable<Uint8Array>) {
      textBytes += piece.byteLength;
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (textBytes > textBytesMax || rest.length > lineCharactersMax) throw new UnreadableNamesError();
      for (const line of lines) {
        if (head) onLine(new NameLine(line));
        else head = headIn(line);
      }
    }
  } catch (cause) {
    // Of zlib.
    const isBroken = /^Z_/.test((cause as NodeJS.ErrnoException).code ?? '');
    throw isBroken ? new UnreadableNamesError(undefined, { cause }) : cause;
  } finally {
    unpacked.destroy();
  }
  if (!head || rest !== '') throw new UnreadableNamesError();
  return head;
}

function headIn(line: string): NamesHead {
  const { data } = headSchema.safeParse(parseJson(line));
  if (!data) throw new UnreadableNamesError();
  return data;
}

/** What stands before the branch. */
const start = /^[0-9a-f]{64}\t(\d{1,16})\t(\d{0,12})\t[^\t]*\t/;

/** A line of a file. Of most, little is needed. */
export class NameLine {
  readonly sizeBytes: number;
  readonly committedMs: number | null;
  readonly #text: string;
  readonly #refAt: number;
  readonly #pathAt: number;

  /** @throws {UnreadableNamesError} */
  constructor(text: string) {
    const [before, size, seconds] = start.exec(text) ?? [];
    const refAt = before?.length ?? 0;
    this.#text = text;
    this.#refAt = refAt;
    this.#pathAt = text.indexOf('\t', refAt) + 1;
    this.sizeBytes = Number(size);
    this.committedMs = seconds ? Number(seconds) * 1000 : null;
    if (refAt === 0 || this.#pathAt === 0 || !Number.isSafeInteger(this.sizeBytes))
      throw new UnreadableNamesError();
  }

  get oid(): string {
    return this.#text.slice(0, 64);
  }

  get isInUse(): boolean {
    return this.#pathAt > this.#refAt + 1;
  }

  /** @param part in lower case: of the path, or the start of the oid. */
  has(part: string): boolean {
    return this.#text.startsWith(part) || this.#path().toLowerCase().includes(part);
  }

  #path(): string {
    const path = this.#text.slice(this.#pathAt);
    return path.includes('\\') ? String(parseJson(`"${path}"`)) : path;
  }

  /** All of it. */
  read(): NamedObject {
    const { sizeBytes, committedMs, oid } = this;
    const [, , , commit, ref] = this.#text.split('\t', 5);
    return {
      oid,
      sizeBytes,
      committedMs,
      commit: commit || null,
      ref: ref || null,
      path: this.#path() || null,
    };
  }
}
