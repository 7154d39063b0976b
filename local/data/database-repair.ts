import { promisify } from 'node:util';
import { create } from 'dynalite/db/index.js';
import { diskFullAdvice, isDiskFull } from '../system/disk-full.ts';
import { errorCode, StartupError } from '../system/startup-error.ts';

/**
 * Completes the creation of the table if a kill interrupted it. dynalite writes a new table as CREATING, and as
 * ACTIVE by a timer of the same process, so a kill in between would leave it CREATING for ever. The table is complete
 * from the first write on, so only its status is changed here. Opening the database also shows that it is readable,
 * before a server is started on it.
 *
 * @throws {StartupError} when another process holds the database, or it is not readable.
 */
export async function repairDatabase(input: {
  databasePath: string;
  tableName: string;
}): Promise<'whole' | 'repaired'> {
  const { databasePath, tableName } = input;
  const store = create({ path: databasePath });
  try {
    await store.db.open();
  } catch (error) {
    throw openError(databasePath, error);
  }
  try {
    const table = await promisify(store.tableDb.get)(tableName);
    if (table === undefined || table.TableStatus !== 'CREATING') return 'whole';
    table.TableStatus = 'ACTIVE';
    for (const index of table.GlobalSecondaryIndexes ?? []) index.IndexStatus = 'ACTIVE';
    await promisify(store.tableDb.put)(tableName, table);
    return 'repaired';
  } finally {
    await store.db.close();
  }
}

function openError(databasePath: string, error: unknown): StartupError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (errorCode(cause) === 'LEVEL_LOCKED') {
    return new StartupError(
      `The database ${databasePath} is in use by another process. Stop that one first, or choose another folder with --data.`,
      { cause: error },
    );
  }
  if (isDiskFull(cause)) {
    return new StartupError(`The database ${databasePath} ${diskFullAdvice}`, { cause: error });
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StartupError(
    `The database ${databasePath} cannot be opened (${reason}). Restore the data folder from a backup, or choose another folder with --data.`,
    { cause: error },
  );
}
