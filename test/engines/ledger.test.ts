import { afterAll } from 'vitest';
import { createDynamoDbAuditLog } from '../../lambda/adapters/dynamodb/audit-log.ts';
import { createDynamoDbDownloads } from '../../lambda/adapters/dynamodb/downloads.ts';
import { createDynamoDbExchangeRules } from '../../lambda/adapters/dynamodb/exchange-rules.ts';
import { createDynamoDbExportJobs } from '../../lambda/adapters/dynamodb/export-jobs.ts';
import { createDynamoDbFailures } from '../../lambda/adapters/dynamodb/failures.ts';
import { createDynamoDbHistory } from '../../lambda/adapters/dynamodb/history.ts';
import { createDynamoDbKeptGrants } from '../../lambda/adapters/dynamodb/kept-grants.ts';
import { createDynamoDbLedger } from '../../lambda/adapters/dynamodb/ledger.ts';
import { createDynamoDbLocks } from '../../lambda/adapters/dynamodb/locks.ts';
import { createDynamoDbMappedRepos } from '../../lambda/adapters/dynamodb/mapped-repos.ts';
import { createDynamoDbPublicReads } from '../../lambda/adapters/dynamodb/public-reads.ts';
import { createDynamoDbRequestKeys } from '../../lambda/adapters/dynamodb/request-keys.ts';
import { createDynamoDbTokenStore } from '../../lambda/adapters/dynamodb/token-store.ts';
import { createDynamoDbWarnings } from '../../lambda/adapters/dynamodb/warnings.ts';
import { createDynamoDbWebhooks } from '../../lambda/adapters/dynamodb/webhooks.ts';
import { admissionContract } from '../contract/admission.contract.ts';
import { auditLogContract } from '../contract/audit-log.contract.ts';
import { downloadsContract } from '../contract/downloads.contract.ts';
import { exchangeRulesContract } from '../contract/exchange-rules.contract.ts';
import { exportJobsContract } from '../contract/export-jobs.contract.ts';
import { failuresContract } from '../contract/failures.contract.ts';
import { historyContract } from '../contract/history.contract.ts';
import { keptGrantsContract } from '../contract/kept-grants.contract.ts';
import { ledgerContract } from '../contract/ledger.contract.ts';
import { locksContract } from '../contract/locks.contract.ts';
import { mappedReposContract } from '../contract/mapped-repos.contract.ts';
import { publicReadsContract } from '../contract/public-reads.contract.ts';
import { warningsContract } from '../contract/warnings.contract.ts';
import { webhooksContract } from '../contract/webhooks.contract.ts';
import { dynamoDbLocal, type EngineTable, openEngineTable } from './dynamodb.ts';
import { describeOn } from './engine.ts';

describeOn(dynamoDbLocal, (url) => {
  let opened: EngineTable | undefined;
  afterAll(() => opened?.close());
  const table = async () => {
    opened ??= await openEngineTable(url);
    return opened.table;
  };
  ledgerContract(async () => ({
    ledger: createDynamoDbLedger(await table()),
    tokens: createDynamoDbTokenStore(await table()),
    requestKeys: createDynamoDbRequestKeys(await table()),
  }));
  exportJobsContract(async () => createDynamoDbExportJobs(await table()));
  exchangeRulesContract(async () => createDynamoDbExchangeRules(await table()));
  downloadsContract(async () => createDynamoDbDownloads(await table()));
  locksContract(async () => createDynamoDbLocks(await table()));
  publicReadsContract(async () => createDynamoDbPublicReads(await table()));
  mappedReposContract(async () => createDynamoDbMappedRepos(await table()));
  keptGrantsContract(async () => createDynamoDbKeptGrants(await table()));
  auditLogContract(async () => createDynamoDbAuditLog(await table()));
  failuresContract(async () => createDynamoDbFailures(await table()));
  historyContract(async () => createDynamoDbHistory(await table()));
  warningsContract(async () => createDynamoDbWarnings(await table()));
  webhooksContract(async () => createDynamoDbWebhooks(await table()));
  admissionContract(async () => createDynamoDbLedger(await table()), 120_000);
});
