import { restoredItem } from '../../../local/backup/restored.ts';
import { keyOf } from '../../../local/table/items.ts';
import { MemoryLedger } from './ledger.ts';
import { MemoryStack } from './stack.ts';
import { memoryTable, WatchedStore } from './table.ts';

/** All items of a stack's table, as they are now. */
export const backupOf = (stack: MemoryStack) =>
  [...stack.ledger.table.store.all()].map((item) => structuredClone(item));

/** The same bucket and clock, with the table as it was. */
export function restored(from: MemoryStack, items: readonly object[], uploadsFromMs: number): MemoryStack {
  const store = new WatchedStore();
  for (const item of items) {
    const after = restoredItem(item as Record<string, unknown>, { nowMs: from.nowMs, uploadsFromMs });
    if (after) store.write({ key: keyOf(after), before: undefined, after });
  }
  const stack = new MemoryStack({}, new MemoryLedger({ on: memoryTable({}, store) }));
  stack.nowMs = from.nowMs;
  return stack;
}
