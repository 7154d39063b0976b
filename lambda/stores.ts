/**
 * What the table keeps, each store by its name in `Deps`. Import it as a namespace: a bundle then has only the stores
 * that its function calls.
 */
export { createDynamoDbAuditLog as audit } from './adapters/dynamodb/audit-log.ts';
export { createDynamoDbDownloads as downloads } from './adapters/dynamodb/downloads.ts';
export { createDynamoDbExchangeRules as exchangeRules } from './adapters/dynamodb/exchange-rules.ts';
export { createDynamoDbExportJobs as exportJobs } from './adapters/dynamodb/export-jobs.ts';
export { createDynamoDbFailures as failures } from './adapters/dynamodb/failures.ts';
export { createDynamoDbHistory as history } from './adapters/dynamodb/history.ts';
export { createDynamoDbKeptGrants as keptGrants } from './adapters/dynamodb/kept-grants.ts';
export { createDynamoDbLedger as ledger } from './adapters/dynamodb/ledger.ts';
export { createDynamoDbLocks as locks } from './adapters/dynamodb/locks.ts';
export { createDynamoDbMappedRepos as mappedRepos } from './adapters/dynamodb/mapped-repos.ts';
export { createDynamoDbPublicReads as publicReads } from './adapters/dynamodb/public-reads.ts';
export { createDynamoDbRequestKeys as requestKeys } from './adapters/dynamodb/request-keys.ts';
export { createDynamoDbTokenStore as tokens } from './adapters/dynamodb/token-store.ts';
export { createDynamoDbWarnings as warnings } from './adapters/dynamodb/warnings.ts';
export { createDynamoDbWebhooks as webhooks } from './adapters/dynamodb/webhooks.ts';
