import type { Table } from '../core/table/requests.ts';
import { createDynamoDbTokenStore } from '../frame/access/token-store.ts';
import * as vouchers from './vouchers.ts';

/**
 * What the table keeps, each store by its name in `Deps`. Import it as a namespace: a bundle then has only the stores
 * that its function calls.
 */

export { createDynamoDbLedger as ledger } from '../core/ledger/ledger.ts';
export { createDynamoDbAuditLog as audit } from '../frame/access/audit-store.ts';
export { createDynamoDbRequestKeys as requestKeys } from '../frame/access/request-key-store.ts';
export { createDynamoDbFailures as failures } from '../frame/failures/failure-store.ts';
export { createDynamoDbExchangeRules as exchangeRules } from '../subjects/ci/rule-store.ts';
export { createDynamoDbCopies as copies } from '../subjects/downloads/copy-store.ts';
export { createDynamoDbDownloads as downloads } from '../subjects/downloads/download-store.ts';
export { createDynamoDbPublicReads as publicReads } from '../subjects/downloads/public-read-store.ts';
export { createDynamoDbGcRuns as gcRuns } from '../subjects/gc/gc-store.ts';
export { createDynamoDbKeptGrants as keptGrants } from '../subjects/hosts/grant-store.ts';
export { createDynamoDbLinkedRepos as linkedRepos } from '../subjects/hosts/linked-repo-store.ts';
export { createDynamoDbTenantLinks as tenantLinks } from '../subjects/hosts/tenant-link-store.ts';
export { createDynamoDbDevices as devices } from '../subjects/invitations/device-store.ts';
export { createDynamoDbInvitations as invitations } from '../subjects/invitations/invitation-store.ts';
export { createDynamoDbLocks as locks } from '../subjects/locks/lock-store.ts';
export { createDynamoDbUsers as users } from '../subjects/sign-in/user-store.ts';
export * from './work-stores.ts';

/** Tokens, and who vouches for those of its kind. */
export const tokens = (table: Table) => createDynamoDbTokenStore(table, Object.values(vouchers));
