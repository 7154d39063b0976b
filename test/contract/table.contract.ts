import { createDynamoDbAuditLog } from '../../lambda/accounts/audit-store.ts';
import { createDynamoDbDevices, createDynamoDbInvitations } from '../../lambda/accounts/invitation-store.ts';
import {
  createDynamoDbKeptGrants,
  createDynamoDbLinkedRepos,
  createDynamoDbPublicReads,
} from '../../lambda/accounts/repo-mark-store.ts';
import { createDynamoDbExchangeRules } from '../../lambda/accounts/token-store.ts';
import { createDynamoDbUsers } from '../../lambda/accounts/user-store.ts';
import { createDynamoDbAlerts } from '../../lambda/alerts/alert-store.ts';
import { createDynamoDbWebhooks } from '../../lambda/alerts/webhook-store.ts';
import { createDynamoDbChunkedUploads } from '../../lambda/chunks/upload-store.ts';
import { createDynamoDbDownloads } from '../../lambda/downloads/download-store.ts';
import { createDynamoDbExportJobs } from '../../lambda/exports/job-store.ts';
import { createDynamoDbHistory } from '../../lambda/history/history-store.ts';
import { createDynamoDbLocks } from '../../lambda/locks/lock-store.ts';
import { createDynamoDbFailures } from '../../lambda/status/failure-store.ts';
import { alertsContract } from './alerts.contract.ts';
import { auditLogContract } from './audit-log.contract.ts';
import { chunkedUploadsContract } from './chunked-uploads.contract.ts';
import { downloadsContract } from './downloads.contract.ts';
import { exchangeRulesContract } from './exchange-rules.contract.ts';
import { exportJobsContract } from './export-jobs.contract.ts';
import { failuresContract } from './failures.contract.ts';
import { historyContract } from './history.contract.ts';
import { devicesContract, invitationsContract } from './invitations.contract.ts';
import { keptGrantsContract } from './kept-grants.contract.ts';
import { addCommittedContract } from './ledger-add-committed.contract.ts';
import type { OpenTable } from './ledger-context.ts';
import { deleteContract } from './ledger-deletes.contract.ts';
import { dueContract } from './ledger-due.contract.ts';
import { gcContract } from './ledger-gc.contract.ts';
import { largeRepoContract } from './ledger-large-repos.contract.ts';
import { limitContract } from './ledger-limits.contract.ts';
import { listContract } from './ledger-lists.contract.ts';
import { reconcileContract } from './ledger-reconcile.contract.ts';
import { repoContract } from './ledger-repos.contract.ts';
import { reservationContract } from './ledger-reservations.contract.ts';
import { tenantContract } from './ledger-tenants.contract.ts';
import { tokenContract } from './ledger-tokens.contract.ts';
import { linkedReposContract } from './linked-repos.contract.ts';
import { locksContract } from './locks.contract.ts';
import { publicReadsContract } from './public-reads.contract.ts';
import { requestKeyContract } from './request-keys.contract.ts';
import { usersContract } from './users.contract.ts';
import { webhooksContract } from './webhooks.contract.ts';

/** What everything that is kept in one table must do, on each kind of table. */
export function tableContract(table: OpenTable): void {
  tenantContract(table);
  addCommittedContract(table);
  limitContract(table);
  repoContract(table);
  reservationContract(table);
  reconcileContract(table);
  deleteContract(table);
  listContract(table);
  gcContract(table);
  largeRepoContract(table);
  dueContract(table);
  tokenContract(table);
  requestKeyContract(table);
  auditLogContract(async () => createDynamoDbAuditLog(await table()));
  chunkedUploadsContract(async () => createDynamoDbChunkedUploads(await table()));
  downloadsContract(async () => createDynamoDbDownloads(await table()));
  invitationsContract(async () => createDynamoDbInvitations(await table()));
  devicesContract(async () => createDynamoDbDevices(await table()));
  exchangeRulesContract(async () => createDynamoDbExchangeRules(await table()));
  usersContract(async () => createDynamoDbUsers(await table()));
  exportJobsContract(async () => createDynamoDbExportJobs(await table()));
  failuresContract(async () => createDynamoDbFailures(await table()));
  historyContract(async () => createDynamoDbHistory(await table()));
  keptGrantsContract(async () => createDynamoDbKeptGrants(await table()));
  locksContract(async () => createDynamoDbLocks(await table()));
  linkedReposContract(async () => createDynamoDbLinkedRepos(await table()));
  publicReadsContract(async () => createDynamoDbPublicReads(await table()));
  alertsContract(async () => createDynamoDbAlerts(await table()));
  webhooksContract(async () => createDynamoDbWebhooks(await table()));
}
