import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import type { Ids } from '../../lambda/core/rules/clock-and-log.ts';
import { parseJson } from '../../lambda/core/rules/text.ts';
import type { StoreCredentials } from '../store/signed-request.ts';
import {
  diskFullAdvice,
  errorCode,
  isDiskFull,
  isRunningElsewhere,
  type NotedProcess,
  notedProcessIn,
  readIfThere,
  StartupError,
  syncFolder,
  thisProcess,
  unfinishedSuffix,
  writeDurably,
} from '../system/durable-file.ts';
import type { Item } from '../table/expression.ts';
import {
  adoptConverted,
  convert,
  removeOlder,
  tableFolder,
  unfinishedTable,
  writeTable,
} from './older-folder.ts';

/** Folders that this process holds. The pid in a lock file cannot show that: an earlier process may have had it. */
const heldHere = new Set<string>();

/**
 * Locks the data folder for this process. A stale lock, whose owner was killed, is replaced. Two processes that
 * replace the same stale lock at the same time may both succeed, and so may two containers, which don't see each other's
 * processes. The database's own lock, which the kernel keeps, then stops the second one before it changes anything.
 *
 * Waits up to `waitMs` for an owner that is stopping, as at a restart.
 *
 * @returns a function that unlocks the folder.
 * @throws {StartupError} when another process holds it.
 */
export async function lockFolder(folder: string, waitMs = 3_000): Promise<() => Promise<void>> {
  const path = join(folder, 'lock');
  const giveUpAtMs = performance.now() + waitMs;
  for (let holder = await holderOf(path); holder !== undefined; holder = await holderOf(path)) {
    if (performance.now() >= giveUpAtMs) throw inUse(folder, holder);
    await delay(100);
  }
  await rm(path, { force: true });
  await claim(path, folder);
  heldHere.add(path);
  return async () => {
    heldHere.delete(path);
    if ((await readOwner(path))?.pid === process.pid) await rm(path, { force: true });
  };
}

/** The pid of the live process that holds a lock. */
async function holderOf(path: string): Promise<number | undefined> {
  if (heldHere.has(path)) return process.pid;
  const owner = await readOwner(path);
  return owner && isRunningElsewhere(owner) ? owner.pid : undefined;
}

/** Creates the lock file with its content in one step: a link fails if the name exists. */
async function claim(path: string, folder: string): Promise<void> {
  const besidePath = `${path}.${randomUUID()}`;
  await writeFile(besidePath, JSON.stringify(thisProcess()), { mode: 0o600 });
  try {
    await link(besidePath, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    throw inUse(folder, (await readOwner(path))?.pid);
  } finally {
    await rm(besidePath, { force: true });
  }
}

async function readOwner(path: string): Promise<NotedProcess | undefined> {
  return notedProcessIn(parseJson((await readIfThere(path)) ?? ''));
}

function inUse(folder: string, pid: number | undefined): StartupError {
  const by = pid === undefined ? 'another process' : `process ${pid}`;
  return new StartupError(
    `The data folder ${folder} is in use by ${by}. Stop that one first, or choose another folder (--data).`,
  );
}

const credentialsSchema = z.object({ accessKeyId: z.string(), secretAccessKey: z.string() });

/** Shortest admin token that is accepted from the environment, so that it cannot be guessed. */
const adminTokenLengthMin = 16;

/**
 * The admin token: the given one, or one that is created once and kept in a file that only this user can read.
 *
 * @throws {StartupError} when the given one is too short, or has characters that no header may have.
 */
export async function adminTokenOf(
  input: { folder: string; given: string | undefined },
  ids: Ids,
): Promise<{ token: string; origin: 'given' | 'kept' | 'created' }> {
  const { folder, given } = input;
  if (given !== undefined && given !== '') {
    if (given.length < adminTokenLengthMin || !/^[\x21-\x7e]+$/.test(given)) {
      throw new StartupError(
        `LFS_QUOTA_ADMIN_TOKEN must have at least ${adminTokenLengthMin} visible ASCII characters and no spaces. ` +
          'Set another one, or unset it: the server then creates one.',
      );
    }
    return { token: given, origin: 'given' };
  }
  const file = join(folder, 'admin-token');
  const kept = (await readIfThere(file))?.trim();
  if (kept !== undefined && kept.length >= adminTokenLengthMin) return { token: kept, origin: 'kept' };
  const token = `lfsq_${ids.random(40)}`;
  await writeDurably(file, `${token}\n`);
  return { token, origin: 'created' };
}

/** The credentials of the store. They are created once, so that presigned URLs stay valid after a restart. */
export async function storeCredentialsOf(folder: string, ids: Ids): Promise<StoreCredentials> {
  const file = join(folder, 'store-credentials.json');
  const kept = credentialsSchema.safeParse(parseJson((await readIfThere(file)) ?? '')).data;
  if (kept !== undefined) return kept;
  const credentials = { accessKeyId: `LFSQ${ids.random(16).toUpperCase()}`, secretAccessKey: ids.random(40) };
  await writeDurably(file, `${JSON.stringify(credentials)}\n`);
  return credentials;
}

/** The folder of `--data`, and the paths below it. */
interface DataFolder {
  /** Absolute. */
  readonly path: string;
  readonly databasePath: string;
  readonly storePath: string;
  /** Unlocks the folder for other processes. */
  release(): Promise<void>;
}

/**
 * Raise it with every change that an older release could not read. This one reads all older formats.
 *
 * 1 → 2: reservations and deletions have their repo in their key.
 * 2 → 3: the table is no longer dynalite's, and has the queues (older-folder.ts).
 */
const folderFormat = 3;

const formatFile = 'format.json';

/**
 * Locks the data folder for this process. Creates it if it does not exist. Closes it and all below it to other users.
 *
 * @throws {StartupError} when another process holds it, a newer release wrote it, it holds files of something
 * else, or it is not writable.
 */
export async function openDataFolder(dataDir: string): Promise<DataFolder> {
  const path = resolve(dataDir);
  const release = await withClearErrors(path, async () => {
    await makeFolder(path);
    await refuseForeignFolder(path);
    await closeEntry(path);
    return lockFolder(path);
  });
  try {
    await withClearErrors(path, async () => {
      await closeToOthers(path);
      await claimFormat(path);
    });
  } catch (error) {
    await release();
    throw error;
  }
  return { path, databasePath: join(path, tableFolder), storePath: join(path, 'store'), release };
}

/**
 * Creates a data folder with a table that was elsewhere before. Until all of it is written, the folder is as good as empty.
 *
 * @throws {StartupError} when the folder has anything in it, or isn't writable.
 */
export async function createDataFolder(
  dataDir: string,
  parts: AsyncIterable<readonly Item[]>,
): Promise<string> {
  const path = resolve(dataDir);
  return withClearErrors(path, async () => {
    await makeFolder(path);
    const names = (await readdir(path)).filter((name) => !isLeftover(name));
    if (names.length > 0)
      throw new StartupError(
        `The folder ${path} isn't empty: it has ${names[0]}. Restore into a new folder, or move this one away first.`,
      );
    await closeEntry(path);
    const release = await lockFolder(path, 0);
    try {
      await writeTable(path, parts);
      await writeFormat(join(path, formatFile));
      await adoptConverted(path);
    } finally {
      await release();
    }
    return path;
  });
}

/** What ext4 has in the root of a volume. It's not ours to read or to close. */
const ofFileSystem = 'lost+found';
/** What a new volume has, or a process leaves that was killed before a folder had its format. */
const isLeftover = (name: string) =>
  name === ofFileSystem || name.startsWith('lock') || name.endsWith(unfinishedSuffix);

/** The table of a data folder that no server has open. @throws {StartupError} */
export async function openStoppedTable(
  dataDir: string,
): Promise<{ databasePath: string; release: () => Promise<void> }> {
  const path = resolve(dataDir);
  const text = await readIfThere(join(path, formatFile));
  if (text === undefined)
    throw new StartupError(`${path} isn't a data folder of lfs-quota: it has no ${formatFile}.`);
  if (readFormat(text) !== folderFormat)
    throw new StartupError(
      `${path} has another format than this release's. Start the server once, or use its release.`,
    );
  const databasePath = join(path, tableFolder);
  const noTable = new StartupError(
    `${path} has no table. Start the server once, or restore a backup into a new folder. With --table-url, use lfs-quota table backup.`,
  );
  const release = await lockFolder(path, 0).catch((error) => {
    // A running server of a shared table holds the folder, too.
    throw existsSync(databasePath) ? error : noTable;
  });
  await adoptConverted(path);
  if (existsSync(databasePath)) return { databasePath, release };
  await release();
  throw noTable;
}

/**
 * Creates a folder and its parents, readable by this user alone. Node's own recursive `mkdir` never returns below
 * `/proc`, where creating a folder fails with ENOENT although its parent exists.
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: 0o700 });
  }
  // Where it is noted, so that a power cut leaves it.
  await syncFolder(dirname(path));
}

/**
 * Takes all rights of other users away, from everything below a folder: an earlier release, or a restored backup, may
 * have left files that others can read. Windows has no such rights.
 */
async function closeToOthers(folder: string, depth = 0): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name === ofFileSystem || !(entry.isDirectory() || entry.isFile())) continue;
    const path = join(folder, entry.name);
    const close = entry.isDirectory()
      ? closeToOthers(path, depth + 1).then(() => closeEntry(path))
      : closeEntry(path);
    // Beside our files may be what this user can't read, or what another program is about to rename.
    await close.catch((error) => {
      if (depth < 2 || !['ENOENT', 'EACCES'].includes(errorCode(error) ?? '')) throw error;
    });
  }
}

async function closeEntry(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0) return;
  try {
    await chmod(path, mode & 0o700);
  } catch (error) {
    // It belongs to another user, or the file system has no such rights.
    if (errorCode(error) !== 'EPERM') throw error;
  }
}

/** Refuses a folder that has files but no `format.json`: it belongs to something else. */
async function refuseForeignFolder(path: string): Promise<void> {
  const names = await readdir(path);
  if (names.includes(formatFile)) return;
  if (names.includes(unfinishedTable))
    throw new StartupError(
      `A restore into ${path} isn't finished. If none is running, run it again: lfs-quota table restore --data ${path} FILE`,
    );
  const foreign = names.find((name) => !isLeftover(name));
  if (foreign === undefined) return;
  throw new StartupError(
    `The folder ${path} contains other files (${foreign}) and isn't a data folder of lfs-quota. Choose an empty or new folder (--data).`,
  );
}

/** Gives a new or an older folder the current format, and its table: from then on an older release refuses it. */
async function claimFormat(path: string): Promise<void> {
  const file = join(path, formatFile);
  const text = await readIfThere(file);
  const format = text === undefined ? 0 : readFormat(text);
  if (format === undefined)
    throw new StartupError(
      `${file} is damaged. Restore the data folder from a backup, or choose another folder (--data).`,
    );
  if (format > folderFormat)
    throw new StartupError(
      `The data folder ${path} was written by a newer lfs-quota (format ${format}; this release reads up to ` +
        `${folderFormat}). Start that newer release, or choose another folder (--data).`,
    );
  if (format < folderFormat) await convert(path, () => writeFormat(file));
  else await adoptConverted(path);
  await removeOlder(path);
}

const writeFormat = (file: string) => writeDurably(file, `${JSON.stringify({ format: folderFormat })}\n`);

function readFormat(text: string): number | undefined {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || !('format' in value)) return undefined;
  return Number.isInteger(value.format) ? Number(value.format) : undefined;
}

/** Turns an error of the file system into one that says what to do. */
async function withClearErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isDiskFull(error))
      throw new StartupError(`The data folder ${path} ${diskFullAdvice}`, { cause: error });
    const reason = fileSystemReasons[errorCode(error) ?? ''];
    if (reason === undefined) throw error;
    throw new StartupError(`The data folder ${path} ${reason}. Choose another folder (--data).`, {
      cause: error,
    });
  }
}

const fileSystemReasons: Readonly<Record<string, string>> = {
  EACCES: "isn't writable for this user, or a file in it isn't",
  EPERM: "isn't writable for this user, or a file in it isn't",
  EROFS: 'is on a read-only file system',
  ENOTDIR: "can't be used: a part of its path is a file",
  EEXIST: "can't be used: it's a file",
  ENOENT: "can't be created there",
  ENAMETOOLONG: 'has a name that is too long',
};
