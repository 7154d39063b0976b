import { promisify } from 'node:util';
import { create } from 'dynalite/db/index.js';
import { errorCode, StartupError } from '../startup-error.ts';

/**
 * Ends what a kill interrupted: dynalite notes a new table as CREATING, and as ACTIVE by a timer of the same
 * process, so a kill in between would leave it CREATING for ever. The table itself is whole from the first
 * note on, therefore the second is written here. Opening it also shows whether the database is readable at
 * all, before a server is built on it.
 *
 * @throws {StartupError} where the database is held by another process or can't be read.
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
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StartupError(
    `The database ${databasePath} can't be opened (${reason}). Restore the data folder from a backup, or choose another with --data.`,
    { cause: error },
  );
}
