import { readdir, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { readIfThere, unfinishedSuffix, writeDurably } from '../../local/system/durable-file.ts';
import { errorCode } from '../../local/system/startup-error.ts';
import { CliError } from '../errors.ts';
import {
  type Checkpoint,
  differenceOf,
  readCheckpoint,
  type ScanIdentity,
  writeCheckpoint,
} from './checkpoint.ts';
import { lockFile } from './file-lock.ts';

/** The file in which a scan is saved, while this process holds it. Each save replaces it atomically. */
export class CheckpointFile {
  readonly #path: string;
  readonly #release: () => Promise<void>;
  /** Tells the file that this process wrote, or found, from any other in its place. */
  #version: string | undefined;
  #saving: Promise<void> = Promise.resolve();
  /** What it held when it was opened; undefined if there was no such file. */
  readonly found: Checkpoint | undefined;

  private constructor(input: {
    path: string;
    release: () => Promise<void>;
    version: string | undefined;
    found: Checkpoint | undefined;
  }) {
    this.#path = input.path;
    this.#release = input.release;
    this.#version = input.version;
    this.found = input.found;
  }

  /**
   * @throws {CliError} when the file cannot be used: another process has it, it belongs to another scan, is no such
   *   file, or cannot be written.
   */
  static async open(name: string, scan: ScanIdentity): Promise<CheckpointFile> {
    try {
      await checkPlace(name);
      // A link to a file stays one.
      const file = await realpath(name).catch(() => path.resolve(name));
      const release = await lockFile(file);
      try {
        const found = readFound(name, await readIfThere(file), scan);
        await removeUnfinished(file);
        return new CheckpointFile({ path: file, release, version: await versionOf(file), found });
      } catch (error) {
        await release();
        throw error;
      }
    } catch (error) {
      throw explain(error, name);
    }
  }

  /**
   * Saves, after any save that is under way.
   *
   * @throws {CliError} when another process has written the file meanwhile, or it cannot be written.
   */
  save(checkpoint: Checkpoint): Promise<void> {
    const save = this.#saving.catch(() => {}).then(() => this.#save(checkpoint));
    this.#saving = save;
    return save;
  }

  /** Lets go of the file. */
  async close(): Promise<void> {
    await this.#saving.catch(() => {});
    await this.#release();
  }

  async #save(checkpoint: Checkpoint): Promise<void> {
    const version = await versionOf(this.#path);
    if (version !== undefined && version !== this.#version) throw new ReplacedFileError(this.#path);
    try {
      await writeDurably(this.#path, writeCheckpoint(checkpoint));
    } catch (error) {
      throw explain(error, this.#path);
    }
    this.#version = await versionOf(this.#path);
  }
}

/** Somebody else wrote the file. Nothing is lost, but going on would waste requests, and end in the same conflict. */
export class ReplacedFileError extends CliError {
  constructor(file: string) {
    super(`Another process has written ${file} while this one counted.`, {
      hint: 'Stop one of them, and go on with the other. What is saved is right, whichever wrote it.',
    });
  }
}

async function checkPlace(name: string): Promise<void> {
  const found = await stat(name).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found !== undefined && !found.isFile()) {
    throw new CliError(`${name} is no file.`, { hint: 'Give --resume the name of a file.' });
  }
}

/** What a process that was killed while it saved has left. Nobody else writes, because the file is locked. */
export async function removeUnfinished(file: string): Promise<void> {
  const folder = path.dirname(file);
  for (const name of await readdir(folder))
    if (name.startsWith(`${path.basename(file)}.`) && name.endsWith(unfinishedSuffix))
      await rm(path.join(folder, name), { force: true });
}

function readFound(name: string, text: string | undefined, scan: ScanIdentity): Checkpoint | undefined {
  if (text === undefined) return undefined;
  const read = readCheckpoint(text);
  if (read.kind === 'foreign') {
    throw new CliError(`${name} was not written by \`lfs-quota du --resume\`.`, {
      hint: 'It is left as it is. Give the name of a file that does not exist yet.',
    });
  }
  if (read.kind === 'newer') {
    throw new CliError(`${name} was written by a newer version of lfs-quota (format ${read.version}).`, {
      hint: 'Go on with that version, or count again with another file.',
    });
  }
  if (read.kind === 'damaged') {
    throw new CliError(`${name} is damaged: it is not as \`lfs-quota du --resume\` wrote it.`, {
      hint: 'Restore it, or delete it and count from the beginning.',
    });
  }
  const difference = differenceOf(read.checkpoint.scan, scan);
  if (difference === undefined) return read.checkpoint;
  throw new CliError(`${name} belongs to another scan: one ${difference}.`, {
    hint: 'Call it as that scan was called, or give this one a file of its own.',
  });
}

/** Changes whenever another file is put in its place. */
async function versionOf(file: string): Promise<string | undefined> {
  try {
    const { ino, mtimeNs, size } = await stat(file, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function explain(error: unknown, name: string): unknown {
  const code = errorCode(error);
  if (error instanceof CliError || code === undefined) return error;
  const why: Readonly<Record<string, string>> = {
    ENOENT: 'Its folder does not exist.',
    ENOTDIR: 'Its folder does not exist.',
    EACCES: 'It, or its folder, may not be read and written.',
    EROFS: 'Its folder may not be written.',
    ENOSPC: 'The disk is full.',
  };
  return new CliError(`${name} cannot be used to save the scan (${code}).`, {
    hint: why[code] ?? 'Give --resume another file.',
    cause: error,
  });
}
