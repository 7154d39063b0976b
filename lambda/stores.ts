/**
 * What the table keeps, each store by its name in `Deps`. Import it as a namespace: a bundle then has only the stores
 * that its function calls.
 */

export { createDynamoDbAuditLog as audit } from './accounts/audit-store.ts';
export {
  createDynamoDbDevices as devices,
  createDynamoDbInvitations as invitations,
} from './accounts/invitation-store.ts';
export {
  createDynamoDbKeptGrants as keptGrants,
  createDynamoDbLinkedRepos as linkedRepos,
  createDynamoDbPublicReads as publicReads,
} from './accounts/repo-mark-store.ts';
export { createDynamoDbTenantLinks as tenantLinks } from './accounts/tenant-link-store.ts';
export {
  createDynamoDbExchangeRules as exchangeRules,
  createDynamoDbRequestKeys as requestKeys,
  createDynamoDbTokenStore as tokens,
} from './accounts/token-store.ts';
export { createDynamoDbUsers as users } from './accounts/user-store.ts';
export { createDynamoDbAlerts as alerts } from './alerts/alert-store.ts';
export { createDynamoDbEmails as emails } from './alerts/email-store.ts';
export { createDynamoDbWebhooks as webhooks } from './alerts/webhook-store.ts';
export { createDynamoDbChunkedUploads as chunkedUploads } from './chunks/upload-store.ts';
export { createDynamoDbCopies as copies } from './downloads/copy-store.ts';
export { createDynamoDbDownloads as downloads } from './downloads/download-store.ts';
export { createDynamoDbExportJobs as exportJobs } from './exports/job-store.ts';
export { createDynamoDbGcRuns as gcRuns } from './gc/gc-store.ts';
export { createDynamoDbHistory as history } from './history/history-store.ts';
export { createDynamoDbLedger as ledger } from './ledger/ledger.ts';
export { createDynamoDbLocks as locks } from './locks/lock-store.ts';
export { createDynamoDbFailures as failures } from './status/failure-store.ts';
