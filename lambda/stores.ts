import { createDynamoDbTokenStore } from './access/token-store.ts';
import { ruleVouches } from './ci/rule-store.ts';
import { organizationVouches } from './sign-in/user-store.ts';
import type { Table } from './table/requests.ts';

/**
 * What the table keeps, each store by its name in `Deps`. Import it as a namespace: a bundle then has only the stores
 * that its function calls.
 */

export { createDynamoDbAuditLog as audit } from './access/audit-store.ts';
export { createDynamoDbRequestKeys as requestKeys } from './access/request-key-store.ts';
export { createDynamoDbAlerts as alerts } from './alerts/alert-store.ts';
export { createDynamoDbEmails as emails } from './alerts/email-store.ts';
export { createDynamoDbWebhooks as webhooks } from './alerts/webhook-store.ts';
export { createDynamoDbChunkedUploads as chunkedUploads } from './chunks/upload-store.ts';
export { createDynamoDbExchangeRules as exchangeRules } from './ci/rule-store.ts';
export { createDynamoDbCopies as copies } from './downloads/copy-store.ts';
export { createDynamoDbDownloads as downloads } from './downloads/download-store.ts';
export { createDynamoDbPublicReads as publicReads } from './downloads/public-read-store.ts';
export { createDynamoDbExportJobs as exportJobs } from './exports/job-store.ts';
export { createDynamoDbFailures as failures } from './frame/failure-store.ts';
export { createDynamoDbGcRuns as gcRuns } from './gc/gc-store.ts';
export { createDynamoDbHistory as history } from './history/history-store.ts';
export { createDynamoDbKeptGrants as keptGrants } from './hosts/grant-store.ts';
export { createDynamoDbLinkedRepos as linkedRepos } from './hosts/linked-repo-store.ts';
export { createDynamoDbTenantLinks as tenantLinks } from './hosts/tenant-link-store.ts';
export {
  createDynamoDbDevices as devices,
  createDynamoDbInvitations as invitations,
} from './invitations/invitation-store.ts';
export { createDynamoDbLedger as ledger } from './ledger/ledger.ts';
export { createDynamoDbLocks as locks } from './locks/lock-store.ts';
export { createDynamoDbUsers as users } from './sign-in/user-store.ts';

/** Tokens, and who vouches for those of its kind. */
export const tokens = (table: Table) => createDynamoDbTokenStore(table, [ruleVouches, organizationVouches]);
