import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode, StartupError } from '../startup-error.ts';
import { readIfThere, unfinishedSuffix, writeDurably } from './durable-file.ts';
import { lockFolder } from './folder-lock.ts';

/** Where everything lies below `--data`. */
export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  readonly databasePath: string;
  readonly storePath: string;
  readonly queuePath: string;
  /** Gives the folder back for other processes. */
  release(): Promise<void>;
}

/** Raised whenever an older release could not go on with what this one writes. */
const folderFormat = 1;

const formatFile = 'format.json';

/**
 * Takes a data folder, and makes it where there is none.
 *
 * @throws {StartupError} where it is another process's, of a newer release, somebody's other files, or not
 * writable.
 */
export async function openDataFolder(dataDir: string): Promise<DataFolder> {
  const path = resolve(dataDir);
  const release = await withClearErrors(path, async () => {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await refuseForeignFolder(path);
    return lockFolder(path);
  });
  try {
    await withClearErrors(path, () => checkFormat(path));
  } catch (error) {
    await release();
    throw error;
  }
  const [databasePath, storePath, queuePath] = [
    join(path, 'database'),
    join(path, 'store'),
    join(path, 'queue'),
  ];
  return { path, databasePath, storePath, queuePath, release };
}

/** A folder with files but without our mark is somebody's: nothing of ours is to be strewn among them. */
async function refuseForeignFolder(path: string): Promise<void> {
  const names = await readdir(path);
  if (names.includes(formatFile)) return;
  const foreign = names.find((name) => !name.startsWith('lock') && !name.endsWith(unfinishedSuffix));
  if (foreign === undefined) return;
  throw new StartupError(
    `The folder ${path} holds other files (${foreign}) and is no data folder of lfs-quota. ` +
      'Choose an empty or a new folder with --data.',
  );
}

async function checkFormat(path: string): Promise<void> {
  const file = join(path, formatFile);
  const text = await readIfThere(file);
  if (text === undefined) {
    await writeDurably(file, `${JSON.stringify({ format: folderFormat })}\n`);
    return;
  }
  const format = readFormat(text);
  if (format === undefined) {
    throw new StartupError(
      `${file} can't be read as this data folder's format. Restore the folder from a backup, or choose another with --data.`,
    );
  }
  if (format > folderFormat) {
    throw new StartupError(
      `The data folder ${path} was written by a newer lfs-quota (format ${format}, this one knows up to ` +
        `${folderFormat}). Start that release, or choose another folder with --data.`,
    );
  }
}

function readFormat(text: string): number | undefined {
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== 'object' || read === null || !('format' in read)) return undefined;
    return Number.isInteger(read.format) ? Number(read.format) : undefined;
  } catch {
    return undefined;
  }
}

/** Says in words what the file system refused. */
async function withClearErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = fileSystemReasons[errorCode(error) ?? ''];
    if (reason === undefined) throw error;
    throw new StartupError(`The data folder ${path} ${reason}. Choose another folder with --data.`, {
      cause: error,
    });
  }
}

const fileSystemReasons: Readonly<Record<string, string>> = {
  EACCES: "can't be written by this user",
  EPERM: "can't be written by this user",
  EROFS: 'lies on a file system that is read-only',
  ENOTDIR: 'is no folder: a file is in its place, or on the way to it',
  EEXIST: 'is no folder: a file is in its place',
  ENOENT: "can't be made there",
  ENOSPC: 'lies on a file system that is full',
  EDQUOT: "is beyond this user's quota of disk space",
  ENAMETOOLONG: 'has too long a name',
};
