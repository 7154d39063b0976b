import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { decodeObjectList, encodeObjectList } from '../../lambda/domain/export/object-list.ts';
import type { StoredObject } from '../../lambda/domain/export/stored-object.ts';
import { parseJson } from '../../lambda/domain/json.ts';
import { readIfThere, syncFolder, writeDurably } from '../../local/system/durable-file.ts';
import { CliError } from '../errors.ts';
import { lockFile } from '../file-lock.ts';

/** The files beside an archive while it is made: what it is to have, and what of it is complete. */

const format = 'lfs-quota export local';
/** Raised when an older version could not read, or would misread, what is written. */
const version = 1;
/** Hex digits of the oid in a line of what is complete: enough to find a line that was not written as a whole. */
const checkDigits = 8;

const headSchema = z.strictObject({
  /** What was asked for. An export that differs in any of these cannot be continued. */
  wish: z.strictObject({
    url: z.string(),
    tenant: z.string(),
    /** null: all of them. */
    repo: z.string().nullable(),
    /** A hash of the oids and names that were asked for. null: all objects. */
    wanted: z.string().nullable(),
  }),
  createdAtMs: z.number().int().nonnegative(),
  /** Objects that were asked for and not stored. */
  missing: z.array(z.strictObject({ oid: z.string(), sizeBytes: z.number().nullable() })).readonly(),
});

export type ExportWish = z.output<typeof headSchema>['wish'];

export interface ExportState extends Readonly<z.output<typeof headSchema>> {
  /** Each oid once, in the order of the oids. */
  readonly objects: readonly StoredObject[];
}

/**
 * The files beside an archive while it is made: `.partial` with what has arrived, `.partial.list` with what it is to
 * have, `.partial.done` with what of it is complete. While one process works with them, no other does.
 */
export class Workspace {
  readonly file: string;
  readonly partial: string;
  /** A second archive, to which a first one is copied without objects that are gone. */
  readonly next: string;
  readonly done: string;
  readonly #list: string;
  readonly #release: () => Promise<void>;

  private constructor(file: string, release: () => Promise<void>) {
    this.file = file;
    this.partial = `${file}.partial`;
    this.next = `${file}.partial.next`;
    this.done = `${file}.partial.done`;
    this.#list = `${file}.partial.list`;
    this.#release = release;
  }

  /** @throws {CliError} when another process works with the same file. */
  static async open(file: string): Promise<Workspace> {
    const release = await lockFile(`${file}.partial`, 'exports to it');
    const workspace = new Workspace(file, release);
    // A process was killed while it copied. That begins anew.
    await rm(workspace.next, { force: true });
    return workspace;
  }

  /**
   * What an earlier call was to export; undefined if there was none.
   *
   * @throws {CliError} when it was something else, or cannot be read.
   */
  async read(wish: ExportWish): Promise<{ state: ExportState; id: string } | undefined> {
    const text = await readIfThere(this.#list);
    if (text === undefined) return undefined;
    const read = readState(text);
    const fresh = 'Begin anew with --fresh, or name another file.';
    if (read.kind === 'newer')
      throw new CliError(
        `${this.#list} was written by a newer version of lfs-quota (format ${read.version}).`,
        {
          hint: `Go on with that version. ${fresh}`,
        },
      );
    if (read.kind !== 'read')
      throw new CliError(`${this.#list} is not as \`lfs-quota export local\` wrote it.`, { hint: fresh });
    const difference = differenceOf(read.state.wish, wish);
    if (difference === undefined) return read;
    throw new CliError(`${this.partial} belongs to another export: one ${difference}.`, {
      hint: `Call it as that one was called. ${fresh}`,
    });
  }

  /** Puts down what is to be exported, before anything that depends on it. @returns its id. */
  async write(state: ExportState): Promise<string> {
    const { text, id } = writeState(state);
    await writeDurably(this.#list, text);
    return id;
  }

  /** Removes what an earlier call has left. */
  async clear(): Promise<void> {
    // The list goes last: without it nobody knows what the others are.
    for (const name of [this.next, this.done, this.partial, this.#list]) await rm(name, { force: true });
  }

  /** Makes a complete archive the result. */
  async finish(archive: string): Promise<void> {
    await rename(archive, this.file);
    await syncFolder(path.dirname(this.file));
    await this.clear();
  }

  /** Lets others work with the file. */
  async close(): Promise<void> {
    await this.#release();
  }
}

/** Looks, before anything is asked for, whether an archive can be put there. @throws {CliError} */
export function checkPlace(file: string, { isForced }: { isForced: boolean }): void {
  const folder = path.dirname(file);
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new CliError(`There is no folder ${folder}.`, { hint: 'Make it, or name another file.' });
  if (!existsSync(file)) return;
  if (!statSync(file).isFile())
    throw new CliError(`${file} is no file.`, { hint: 'Give --output the name of a file.' });
  if (!isForced)
    throw new CliError(`${file} exists already.`, {
      hint: 'Name another file, or replace it with --force.',
    });
}

/** The list of what an export has: two lines of JSON, and its objects. */
export type ReadState =
  | {
      readonly kind: 'read';
      readonly state: ExportState;
      /** A hash of all that it says. */
      readonly id: string;
    }
  /** It is not of this program. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'newer'; readonly version: number }
  /** It was of this program, but is not as it was written. */
  | { readonly kind: 'damaged' };

/** @returns the file, and a hash of all that it says. */
export function writeState({ objects, ...head }: ExportState): { text: string; id: string } {
  const body = `${JSON.stringify(head)}\n${Buffer.from(encodeObjectList(objects)).toString('utf8')}`;
  const id = sha256(body);
  return { text: `{"format":"${format}","version":${version},"sha256":"${id}"}\n${body}`, id };
}

export function readState(text: string): ReadState {
  const [first = ''] = text.split('\n', 1);
  const [, written, id] =
    /^\{"format":"lfs-quota export local","version":(\d+)(?:,"sha256":"(\w+)")?/.exec(first) ?? [];
  if (written === undefined) return { kind: 'foreign' };
  if (Number(written) > version) return { kind: 'newer', version: Number(written) };
  const body = text.slice(first.length + 1);
  if (id === undefined || sha256(body) !== id) return { kind: 'damaged' };
  const headEnd = body.indexOf('\n');
  const head = headSchema.safeParse(parseJson(body.slice(0, headEnd)));
  if (!head.success) return { kind: 'damaged' };
  const objects = decodeObjectList(Buffer.from(body.slice(headEnd + 1)));
  return { kind: 'read', state: { ...head.data, objects }, id };
}

/** What of two wishes is not the same, for a person; undefined if one can continue the other. */
export function differenceOf(saved: ExportWish, wanted: ExportWish): string | undefined {
  const [savedWords, wantedWords] = [wordsOf(saved), wordsOf(wanted)];
  for (const [index, words] of savedWords.entries())
    if (words !== wantedWords[index]) return `${words}, not ${wantedWords[index]}`;
  return saved.wanted === wanted.wanted ? undefined : 'of other objects';
}

function wordsOf({ url, tenant, repo, wanted }: ExportWish): string[] {
  return [
    `of ${tenant}`,
    repo === null ? 'of all repos' : `of the repo ${repo}`,
    `from ${url}`,
    wanted === null ? 'of all objects' : 'of the objects of a list',
  ];
}

/** A hash of what was asked for. */
export function wantedHash(objects: readonly { oid: string; name?: string | undefined }[]): string {
  return sha256(JSON.stringify(objects.map(({ oid, name = null }) => [oid, name])));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

interface DoneInput {
  /** The list of objects that the lines are about. A file about another one is begun anew. */
  readonly id: string;
  readonly archive: Pick<FileHandle, 'datasync'>;
  readonly objects: readonly StoredObject[];
  /** Called when a line cannot be written. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Which objects of an export lie in the archive, as a file to which a line is added for each. A line is written when the
 * object's bytes are on the disk: what it says holds after a kill and after a power cut.
 */
export class DoneList {
  readonly #input: DoneInput;
  readonly #file: FileHandle;
  #waiting: number[] = [];
  #writing: Promise<void> | undefined;

  private constructor(input: DoneInput, file: FileHandle) {
    this.#input = input;
    this.#file = file;
  }

  /**
   * @param input.isVoid nothing of the archive is there, whatever the file says.
   * @returns the list, and the indices of the objects that it has already.
   */
  static async open(
    path: string,
    input: DoneInput & { isVoid: boolean },
  ): Promise<{ list: DoneList; done: ReadonlySet<number> }> {
    const { id, objects, isVoid } = input;
    const done = new Set(isVoid ? [] : indicesIn(await readIfThere(path), { id, objects }));
    // The last line may have been cut: what is added must not become a part of it.
    const lines = [...done].map((index) => lineOf(index, objects));
    await writeDurably(path, `${id}\n${lines.join('')}`);
    return { list: new DoneList(input, await open(path, 'a')), done };
  }

  /** Adds an object whose bytes were written. All that come while the disk is waited for are added together. */
  add(index: number): void {
    this.#waiting.push(index);
    this.#writing ??= this.#write().catch(this.#input.onFailure);
  }

  /** Waits for all that was added, and lets go of the file. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  async #write(): Promise<void> {
    const { archive, objects } = this.#input;
    while (this.#waiting.length > 0) {
      const indices = this.#waiting;
      this.#waiting = [];
      await archive.datasync();
      await this.#file.appendFile(indices.map((index) => lineOf(index, objects)).join(''));
      await this.#file.datasync();
    }
    this.#writing = undefined;
  }
}

function lineOf(index: number, objects: readonly StoredObject[]): string {
  return `${index} ${objects[index]?.oid.slice(0, checkDigits)}\n`;
}

function indicesIn(
  text: string | undefined,
  { id, objects }: { id: string; objects: readonly StoredObject[] },
): number[] {
  const [first, ...lines] = text?.split('\n') ?? [];
  if (first !== id) return [];
  return lines.slice(0, -1).flatMap((line) => {
    const index = Number.parseInt(line, 10);
    return objects[index] !== undefined && `${line}\n` === lineOf(index, objects) ? [index] : [];
  });
}
