import type { Table } from '../../../lambda/core/table/requests.ts';
import type { Change } from '../../../local/table/items.ts';
import { LocalTable, type TableLimits } from '../../../local/table/table.ts';
import { MemoryStore } from './memory-store.ts';

/** Items in memory, which tell whoever looks of each change. */
export class WatchedStore extends MemoryStore {
  readonly #watchers: ((change: Change) => void)[] = [];

  /** @param watcher called after each change. */
  watch(watcher: (change: Change) => void): void {
    this.#watchers.push(watcher);
  }

  override write(change: Change): void {
    super.write(change);
    for (const watcher of this.#watchers) watcher(change);
  }
}

/** A table in memory, and what it holds for a test that looks behind the adapters. */
export interface MemoryTable extends Table {
  readonly store: WatchedStore;
}

export function memoryTable(limits: TableLimits = {}, store = new WatchedStore()): MemoryTable {
  return { store, client: new LocalTable(store, limits), tableName: 'lfs-quota' };
}
