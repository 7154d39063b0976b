import { addCommittedContract } from './ledger-add-committed.contract.ts';
import { cleanupContract } from './ledger-cleanups.contract.ts';
import type { LedgerUnderTest } from './ledger-context.ts';
import { deleteContract } from './ledger-deletes.contract.ts';
import { dueContract } from './ledger-due.contract.ts';
import { giantContract } from './ledger-giants.contract.ts';
import { limitContract } from './ledger-limits.contract.ts';
import { reconcileContract } from './ledger-reconcile.contract.ts';
import { repoContract } from './ledger-repos.contract.ts';
import { reservationContract } from './ledger-reservations.contract.ts';
import { tenantContract } from './ledger-tenants.contract.ts';
import { tokenContract } from './ledger-tokens.contract.ts';
import { requestKeyContract } from './request-keys.contract.ts';

/** What every ledger, token store and store of request keys must do. */
export function ledgerContract(open: () => Promise<LedgerUnderTest>): void {
  tenantContract(open);
  addCommittedContract(open);
  limitContract(open);
  repoContract(open);
  reservationContract(open);
  reconcileContract(open);
  deleteContract(open);
  cleanupContract(open);
  giantContract(open);
  dueContract(open);
  tokenContract(open);
  requestKeyContract(open);
}
