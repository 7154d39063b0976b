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

const all = {
  ...stores,
  ...allThose(management, 'stores'),
  ...allThose(batches, 'stores'),
  ...allThose(reconciles, 'stores'),
  ...allThose(claims, 'stores'),
  ...allThose(beats, 'stores'),
  ...allThose(listeners, 'stores'),
};

/** Every store, on one table. */
export const storesOn = (table: Table) => storesOf(all, table);
