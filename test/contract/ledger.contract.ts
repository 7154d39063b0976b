import { addCommittedContract } from './ledger-add-committed.contract.ts';
import type { LedgerUnderTest } from './ledger-context.ts';
import { deleteContract } from './ledger-deletes.contract.ts';
import { dueContract } from './ledger-due.contract.ts';
import { reconcileContract } from './ledger-reconcile.contract.ts';
import { reservationContract } from './ledger-reservations.contract.ts';
import { tenantContract } from './ledger-tenants.contract.ts';
import { tokenContract } from './ledger-tokens.contract.ts';

/** What every ledger must do, whatever it stores its items in. */
export function ledgerContract(open: () => Promise<LedgerUnderTest>): void {
  tenantContract(open);
  addCommittedContract(open);
  reservationContract(open);
  reconcileContract(open);
  deleteContract(open);
  dueContract(open);
  tokenContract(open);
}
