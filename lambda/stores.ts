import { allThose } from './core/rules/lists.ts';
import type { Table } from './core/table/requests.ts';
import { storesOf } from './core/table/stores.ts';
import * as batches from './lists/batches.ts';
import * as beats from './lists/beats.ts';
import * as claims from './lists/claims.ts';
import * as listeners from './lists/listeners.ts';
import * as management from './lists/management.ts';
import * as reconciles from './lists/reconciles.ts';
import * as stores from './lists/stores.ts';

/** Every store, on one table. */
export const storesOn = (table: Table) => ({
  ...storesOf(stores, table),
  ...storesOf(allThose(management, 'stores'), table),
  ...storesOf(allThose(batches, 'stores'), table),
  ...storesOf(allThose(reconciles, 'stores'), table),
  ...storesOf(allThose(claims, 'stores'), table),
  ...storesOf(allThose(beats, 'stores'), table),
  ...storesOf(allThose(listeners, 'stores'), table),
});
