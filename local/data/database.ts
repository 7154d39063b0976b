import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { StorageFullError } from '../../lambda/core/rules/errors.ts';
import type { TableClient } from '../../lambda/core/table/table.ts';
import { diskFullAdvice, errorCode, isDiskFull, StartupError, syncFolder } from '../system/durable-file.ts';
import { LevelStore, type LevelStoreOptions } from '../table/level-store.ts';
import { LocalTable, type TableLimits } from '../table/table.ts';

/** What the client of a request is told, who may be anyone. */
const diskFullText =
  "The server's disk is full, or its disk quota is reached. Ask its operator to free up space, then retry. Stored data is safe.";

const chunkBytes = 1024 ** 2;

/** LevelDB writes its log of up to 4 MiB anew, at most twice, before it is open. */
function probeBytesOf(folder: string): number {
  const logs = readdirSync(folder).filter((name) => name.endsWith('.log'));
  return logs.reduce((sum, name) => sum + 2 * statSync(join(folder, name)).size, chunkBytes);
}

/**
 * Writes some MiB to a folder and removes them. What the file system says of its free space would leave out quotas.
 *
 * @throws the error of the file system, ENOSPC for example.
 */
async function probeSpace(folder: string): Promise<void> {
  const path = join(folder, 'space-probe');
  const probeBytes = probeBytesOf(folder);
  // No zeros: some file systems store those in no space.
  const chunk = randomBytes(chunkBytes);
  try {
    const file = await open(path, 'w', 0o600);
    try {
      for (let written = 0; written < probeBytes; written += chunkBytes) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await rm(path, { force: true });
  }
}

export interface Database {
  /** Its requests reach the table in this process directly. Nobody else can send any. */
  readonly client: TableClient;
  readonly tableName: string;
  readonly origin: 'created' | 'found';
  /** Removes what expired before a moment, the first at most, as DynamoDB's TTL does. @returns how many there were. */
  removeExpired: LocalTable['removeExpired'];
  /** All items as JSON, as they are at one moment. Writes go on meanwhile. */
  snapshot: LevelStore['snapshot'];
  /** False after a write that failed. It then tries again by itself: a server that isn't ready gets no request that would. */
  isWritable(): boolean;
  /** Waits for what is being written. */
  close(): Promise<void>;
}

const reads: ReadonlySet<string> = new Set(['GetItem', 'BatchGetItem', 'Query']);

/**
 * Opens the table of this process, with its data in a folder.
 *
 * @param parts stand in for LevelDB and the disk, and set lower limits, in tests.
 * @throws {StartupError} when another process holds it, or it is not readable.
 */
export async function openDatabase(
  path: string,
  parts: Partial<LevelStoreOptions> & { limits?: TableLimits } = {},
): Promise<Database> {
  const isFound = existsSync(path);
  const store = await LevelStore.open({
    open: () => openLevel(path),
    probe: () => probeSpace(path),
    ...parts,
  }).catch((error) => {
    throw openDatabaseError(path, error);
  });
  // Where the folder is noted, so that a power cut leaves it.
  if (!isFound) await syncFolder(dirname(path));
  const table = new LocalTable(store, parts.limits);
  const whenReady = async <T>(isRead: boolean, run: () => Promise<T>): Promise<T> => {
    try {
      await store.ready({ isRead });
      return await run();
    } catch (error) {
      throw isDiskFull(error) ? new StorageFullError(diskFullText, { cause: error }) : error;
    }
  };
  return {
    client: {
      send: (operation, input) => whenReady(reads.has(operation), () => table.send(operation, input)),
    },
    removeExpired: (input) => whenReady(false, () => table.removeExpired(input)),
    tableName: 'lfs-quota',
    origin: isFound ? 'found' : 'created',
    async *snapshot() {
      try {
        yield* store.snapshot();
      } catch (error) {
        throw openDatabaseError(path, error);
      }
    },
    isWritable() {
      if (store.failure === undefined) return true;
      store.ready({ isRead: false }).catch(() => undefined);
      return false;
    },
    close: () => store.close(),
  };
}

/** @throws the error of LevelDB. */
export async function openLevel(path: string): Promise<ClassicLevel> {
  const level = new ClassicLevel(path);
  await level.open();
  return level;
}

/** Whether the disk is full, or LevelDB can't read its files: a part that no start needs can be damaged, too. */
export const isOfDisk = (error: unknown) =>
  isDiskFull(error) || /^LEVEL_(CORRUPTION|IO_ERROR)$/.test(errorCode(error) ?? '');

export function openDatabaseError(path: string, error: unknown): StartupError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const what =
    errorCode(cause) === 'LEVEL_LOCKED'
      ? 'is in use by another process. Stop that one first, or choose another folder (--data).'
      : isDiskFull(cause)
        ? diskFullAdvice
        : `can't be opened (${reason}). Restore the data folder from a backup, or choose another folder (--data).`;
  return new StartupError(`The database ${path} ${what}`, { cause: error });
}
