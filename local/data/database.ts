import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ClassicLevel } from 'classic-level';
import type { TableClient } from '../../lambda/adapters/dynamodb/table-client.ts';
import { explainFullDisk } from '../explain-full-disk.ts';
import { diskFullAdvice, isDiskFull } from '../system/disk-full.ts';
import { syncFolder } from '../system/durable-file.ts';
import { errorCode, StartupError } from '../system/startup-error.ts';
import { LevelStore, type LevelStoreOptions } from '../table/level-store.ts';
import { LocalTable, type TableLimits } from '../table/table.ts';
import { probeSpace } from './space-probe.ts';

export interface Database {
  /** Its requests reach the table in this process directly. Nobody else can send any. */
  readonly client: TableClient;
  readonly tableName: string;
  readonly origin: 'created' | 'found';
  /** Removes what expired before a moment, the first at most, as DynamoDB's TTL does. @returns how many there were. */
  removeExpired: LocalTable['removeExpired'];
  /** Whether writes fail now because the disk is full. */
  isDiskFull(): boolean;
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
  const isFound = await stat(path).then(
    () => true,
    () => false,
  );
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
      throw explainFullDisk(error);
    }
  };
  return {
    client: {
      send: (operation, input) => whenReady(reads.has(operation), () => table.send(operation, input)),
    },
    removeExpired: (input) => whenReady(false, () => table.removeExpired(input)),
    tableName: 'lfs-quota',
    origin: isFound ? 'found' : 'created',
    isDiskFull: () => isDiskFull(store.failure),
    close: () => store.close(),
  };
}

/** @throws the error of LevelDB. */
export async function openLevel(path: string): Promise<ClassicLevel> {
  const level = new ClassicLevel(path);
  await level.open();
  return level;
}

export function openDatabaseError(path: string, error: unknown): StartupError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (errorCode(cause) === 'LEVEL_LOCKED') {
    return new StartupError(
      `The database ${path} is in use by another process. Stop that one first, or choose another folder: \`npm start -- --data DIR\`.`,
      { cause: error },
    );
  }
  if (isDiskFull(cause)) {
    return new StartupError(`The database ${path} ${diskFullAdvice}`, { cause: error });
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StartupError(
    `The database ${path} cannot be opened (${reason}). Restore the data folder from a backup, or choose another folder: \`npm start -- --data DIR\`.`,
    { cause: error },
  );
}
