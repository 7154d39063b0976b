import { existsSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { readIfThere, syncFolder, writeDurably } from '../../local/system/durable-file.ts';
import { CliError } from '../errors.ts';
import { lockFile } from '../file-lock.ts';
import { differenceOf, type ExportState, type ExportWish, readState, writeState } from './state.ts';

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

/** Opens an archive that is being made, as long as it will be. @returns whether it was that long before. */
export async function openArchive(name: string, sizeBytes: number) {
  const file = await open(name, existsSync(name) ? 'r+' : 'w+');
  const hadSize = (await file.stat()).size === sizeBytes;
  if (!hadSize) await file.truncate(sizeBytes);
  return { file, hadSize };
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
