import { allThose } from '../lambda/core/rules/lists.ts';
import type { Table } from '../lambda/core/table/requests.ts';
import { storesOf } from '../lambda/core/table/stores.ts';
import * as batches from '../lambda/lists/batches.ts';
import * as beats from '../lambda/lists/beats.ts';
import * as claims from '../lambda/lists/claims.ts';
import * as listeners from '../lambda/lists/listeners.ts';
import * as management from '../lambda/lists/management.ts';
import * as reconciles from '../lambda/lists/reconciles.ts';
import * as stores from '../lambda/lists/stores.ts';

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
