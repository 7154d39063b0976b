import { promisify } from 'node:util';
import type { DynaliteStore } from 'dynalite/db/index.js';

/**
 * Completes the creation of the table if a kill interrupted it. dynalite writes a new table as CREATING, and as
 * ACTIVE by a timer of the same process, so a kill in between would leave it CREATING for ever. The table is complete
 * from the first write on, so only its status is changed here.
 */
export async function repairTable(store: DynaliteStore, tableName: string): Promise<'whole' | 'repaired'> {
  const table = await promisify(store.tableDb.get)(tableName);
  if (table === undefined || table.TableStatus !== 'CREATING') return 'whole';
  table.TableStatus = 'ACTIVE';
  for (const index of table.GlobalSecondaryIndexes ?? []) index.IndexStatus = 'ACTIVE';
  await promisify(store.tableDb.put)(tableName, table);
  return 'repaired';
}
