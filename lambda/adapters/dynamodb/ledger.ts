import type { Ledger } from '../../ports/ledger.ts';
import { cleanupMethods } from './cleanups.ts';
import { deletionMethods } from './deletions.ts';
import { reconcileMethods } from './reconciles.ts';
import { refreshMethods } from './refresh-state.ts';
import { repoMethods } from './repos.ts';
import type { Table } from './requests.ts';
import { reservationMethods } from './reservations.ts';
import { shardMethods } from './shards.ts';
import { tenantMethods } from './tenants.ts';

/** The ledger on one DynamoDB table. table.ts describes its items. */
export function createDynamoDbLedger(table: Table): Ledger {
  return {
    ...tenantMethods(table),
    ...repoMethods(table),
    ...reservationMethods(table),
    ...reconcileMethods(table),
    ...shardMethods(table),
    ...deletionMethods(table),
    ...cleanupMethods(table),
    ...refreshMethods(table),
  };
}
