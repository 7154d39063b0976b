import type { Table } from '../core/table/requests.ts';
import { createDynamoDbTokenStore } from '../frame/access/token-store.ts';
import * as vouchers from './vouchers.ts';

/**
 * What the table keeps, each store by its name in `Deps`. Those of subjects are with what needs them, in the lists beside it.
 * Import it as a namespace: a bundle then has only the stores that its function calls.
 */

export { createDynamoDbLedger as ledger } from '../core/ledger/ledger.ts';
export { createDynamoDbAuditLog as audit } from '../frame/access/audit-store.ts';
export { createDynamoDbRequestKeys as requestKeys } from '../frame/access/request-key-store.ts';
export { createDynamoDbFailures as failures } from '../frame/failures/failure-store.ts';

/** Tokens, and who vouches for those of its kind. */
export const tokens = (table: Table) => createDynamoDbTokenStore(table, Object.values(vouchers));
