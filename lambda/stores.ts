/**
 * What the table keeps, each store by its name in `Deps`. Import it as a namespace: a bundle then has only the stores
 * that its function calls.
 */

export { createDynamoDbExportJobs as exportJobs } from './exports/jobs.ts';
export { createDynamoDbDownloads as downloads } from './extras/download-store.ts';
export { createDynamoDbFailures as failures } from './extras/failures.ts';
export { createDynamoDbHistory as history } from './extras/history-store.ts';
export { createDynamoDbLocks as locks } from './extras/lock-store.ts';
export {
  createDynamoDbWarnings as warnings,
  createDynamoDbWebhooks as webhooks,
} from './extras/warning-store.ts';
export { createDynamoDbLedger as ledger } from './ledger/ledger.ts';
export { createDynamoDbAuditLog as audit } from './people/audit-log.ts';
export {
  createDynamoDbKeptGrants as keptGrants,
  createDynamoDbMappedRepos as mappedRepos,
  createDynamoDbPublicReads as publicReads,
} from './people/repo-marks.ts';
export {
  createDynamoDbExchangeRules as exchangeRules,
  createDynamoDbRequestKeys as requestKeys,
  createDynamoDbTokenStore as tokens,
} from './people/token-store.ts';
