import { createDynamoDbAuditLog } from '../../lambda/frame/access/audit-store.ts';
import { createDynamoDbFailures } from '../../lambda/frame/failures/failure-store.ts';
import { auditLogContract } from './audit-log.contract.ts';
import { failuresContract } from './failures.contract.ts';
import { addCommittedContract } from './ledger-add-committed.contract.ts';
import type { OpenTable } from './ledger-context.ts';
import { deleteContract } from './ledger-deletes.contract.ts';
import { dueContract } from './ledger-due.contract.ts';
import { largeRepoContract } from './ledger-large-repos.contract.ts';
import { limitContract } from './ledger-limits.contract.ts';
import { listContract } from './ledger-lists.contract.ts';
import { reconcileContract } from './ledger-reconcile.contract.ts';
import { repoContract } from './ledger-repos.contract.ts';
import { reservationContract } from './ledger-reservations.contract.ts';
import { tenantContract } from './ledger-tenants.contract.ts';
import { tokenContract } from './ledger-tokens.contract.ts';
import { watchContract } from './ledger-watch.contract.ts';
import { requestKeyContract } from './request-keys.contract.ts';
import * as subjects from './subjects.ts';

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
  watchContract(table);
  largeRepoContract(table);
  dueContract(table);
  tokenContract(table);
  requestKeyContract(table);
  auditLogContract(async () => createDynamoDbAuditLog(await table()));
  failuresContract(async () => createDynamoDbFailures(await table()));
  for (const contract of Object.values(subjects)) contract(table);
}
