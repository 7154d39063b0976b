/**
 * What the table keeps, each store by its name in `Deps`. Import it as a namespace: a bundle then has only the stores
 * that its function calls.
 */
export { createDynamoDbAuditLog as audit } from './audit-log.ts';
export { createDynamoDbDownloads as downloads } from './downloads.ts';
export { createDynamoDbExchangeRules as exchangeRules } from './exchange-rules.ts';
export { createDynamoDbExportJobs as exportJobs } from './export-jobs.ts';
export { createDynamoDbFailures as failures } from './failures.ts';
export { createDynamoDbHistory as history } from './history.ts';
export { createDynamoDbKeptGrants as keptGrants } from './kept-grants.ts';
export { createDynamoDbLedger as ledger } from './ledger.ts';
export { createDynamoDbLocks as locks } from './locks.ts';
export { createDynamoDbMappedRepos as mappedRepos } from './mapped-repos.ts';
export { createDynamoDbPublicReads as publicReads } from './public-reads.ts';
export { createDynamoDbRequestKeys as requestKeys } from './request-keys.ts';
export { createDynamoDbTokenStore as tokens } from './token-store.ts';
export { createDynamoDbWarnings as warnings } from './warnings.ts';
export { createDynamoDbWebhooks as webhooks } from './webhooks.ts';
