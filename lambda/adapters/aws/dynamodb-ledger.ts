import type { Ledger } from '../../ports/ledger.ts';
import { deletionMethods } from './dynamodb-deletions.ts';
import type { Table } from './dynamodb-expressions.ts';
import { reconcileMethods } from './dynamodb-reconciles.ts';
import { repoMethods } from './dynamodb-repos.ts';
import { reservationMethods } from './dynamodb-reservations.ts';
import { tenantMethods } from './dynamodb-tenants.ts';

/** The ledger on one DynamoDB table: see dynamodb-table.ts for its items. */
export function createDynamoDbLedger(table: Table): Ledger {
  return {
    ...tenantMethods(table),
    ...repoMethods(table),
    ...reservationMethods(table),
    ...reconcileMethods(table),
    ...deletionMethods(table),
  };
}
