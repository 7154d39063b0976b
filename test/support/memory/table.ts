import type { Table } from '../../../lambda/adapters/dynamodb/requests.ts';
import { MemoryStore } from '../../../local/table/memory-store.ts';
import { LocalTable, type TableLimits } from '../../../local/table/table.ts';

/** A table in memory, and what it holds for a test that looks behind the adapters. */
export interface MemoryTable extends Table {
  readonly client: LocalTable;
  readonly store: MemoryStore;
}

export function memoryTable(limits: TableLimits = {}): MemoryTable {
  const store = new MemoryStore();
  return { store, client: new LocalTable(store, limits), tableName: 'lfs-quota' };
}
