import { createGunzip } from 'node:zlib';
import * as z from 'zod';
import { isOid } from '../../../core/rules/names.ts';
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
const pieceBytes = 1024 ** 2;
/** In UTF-8. A longer path is left out. */
export const pathBytesMax = 4096;
/** Beside the path there are an oid, a commit, and a branch, and a character of a path takes up to six. */
const lineCharactersMax = 6 * pathBytesMax + 1024;

/** The end of the year 9999: a later date isn't written as others are. */
const secondsMax = 253_402_300_799;

const headSchema = z.looseObject({
  version: z.literal(1),
  madeAtMs: z
    .number()
    .min(0)
    .max(secondsMax * 1000),
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
  // Git takes commits of any time.
  const isDate = committedMs !== null && committedMs >= 0 && committedMs <= secondsMax * 1000;
  const seconds = isDate ? Math.floor(committedMs / 1000) : '';
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
 * @param onLine hears of each object. The line is good until it returns.
 * @throws {UnreadableNamesError}
 */
export async function readNames(file: Uint8Array, onLine: (line: NameLine) => void): Promise<NamesHead> {
  const unpacked = createGunzip({ chunkSize: pieceBytes });
  unpacked.end(file);
  const decoder = new TextDecoder();
  const line = new NameLine();
  let [head, rest, textBytes]: [NamesHead | undefined, string, number] = [undefined, '', 0];
  try {
    for await (const piece of unpacked as AsyncIterable<Uint8Array>) {
      textBytes += piece.byteLength;
      const text = rest + decoder.decode(piece, { stream: true });
      let start = 0;
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
        if (end - start > lineCharactersMax) throw new UnreadableNamesError();
        if (head) onLine(line.at(text, start, end));
        else head = headIn(text.slice(0, end));
        start = end + 1;
      }
      rest = text.slice(start);
      if (textBytes > textBytesMax || rest.length > lineCharactersMax) throw new UnreadableNamesError();
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

const oidCharacters = 64;
const [tab, zero, nine] = [9, 48, 57];

/** A line of a file. There may be a million, of most of which little is needed: so it's no text of its own, and moves on. */
export class NameLine {
  #text = '';
  #start = 0;
  #end = 0;
  /** Where each field after the oid starts. */
  #sizeAt = 0;
  #secondsAt = 0;
  #commitAt = 0;
  #refAt = 0;
  #pathAt = 0;

  /** @throws {UnreadableNamesError} */
  at(text: string, start: number, end: number): this {
    const after = (from: number) => text.indexOf('\t', from) + 1;
    this.#text = text;
    this.#start = start;
    this.#end = end;
    this.#sizeAt = start + oidCharacters + 1;
    this.#secondsAt = after(this.#sizeAt);
    this.#commitAt = after(this.#secondsAt);
    this.#refAt = after(this.#commitAt);
    this.#pathAt = after(this.#refAt);
    // A tab that isn't there leads to 0, or into a later line.
    const isWhole = text.charCodeAt(this.#sizeAt - 1) === tab && this.#secondsAt > this.#sizeAt;
    if (!isWhole || this.#pathAt <= this.#refAt || this.#pathAt > end) throw new UnreadableNamesError();
    return this;
  }

  get oid(): string {
    return this.#text.slice(this.#start, this.#start + oidCharacters);
  }

  get sizeBytes(): number {
    return this.#number(this.#sizeAt, this.#secondsAt - 1) ?? 0;
  }

  get committedMs(): number | null {
    const seconds = this.#number(this.#secondsAt, this.#commitAt - 1);
    if (seconds !== undefined && seconds > secondsMax) throw new UnreadableNamesError();
    return seconds === undefined ? null : seconds * 1000;
  }

  get isInUse(): boolean {
    return this.#pathAt > this.#refAt + 1;
  }

  /** @param part in lower case: of the path, or the start of the oid. */
  has(part: string): boolean {
    return this.#path().toLowerCase().includes(part) || this.#text.startsWith(part, this.#start);
  }

  /** All of it. */
  read(): NamedObject {
    const { oid, sizeBytes, committedMs } = this;
    if (!isOid(oid)) throw new UnreadableNamesError();
    const commit = this.#text.slice(this.#commitAt, this.#refAt - 1) || null;
    const ref = this.#text.slice(this.#refAt, this.#pathAt - 1) || null;
    return { oid, sizeBytes, committedMs, commit, ref, path: this.#path() || null };
  }

  #path(): string {
    const path = this.#text.slice(this.#pathAt, this.#end);
    const plain = path.includes('\\') ? parseJson(`"${path}"`) : path;
    if (typeof plain !== 'string') throw new UnreadableNamesError();
    return plain;
  }

  /** @returns undefined if there are no digits. @throws {UnreadableNamesError} if it's no number of a file. */
  #number(from: number, to: number): number | undefined {
    let value = 0;
    for (let index = from; index < to; index += 1) {
      const code = this.#text.charCodeAt(index);
      if (code < zero || code > nine) throw new UnreadableNamesError();
      value = value * 10 + (code - zero);
    }
    if (!Number.isSafeInteger(value)) throw new UnreadableNamesError();
    return to > from ? value : undefined;
  }
}
