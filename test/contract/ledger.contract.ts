import { countContract } from './ledger-add-committed.contract.ts';
import type { LedgerUnderTest } from './ledger-context.ts';
import { deleteContract } from './ledger-deletes.contract.ts';
import { dueContract } from './ledger-due.contract.ts';
import { reconcileContract } from './ledger-reconcile.contract.ts';
import { reservationContract } from './ledger-reservations.contract.ts';
import { tenantContract } from './ledger-tenants.contract.ts';
import { tokenContract } from './ledger-tokens.contract.ts';

/** What every ledger must do, whatever it stands on. */
export function ledgerContract(open: () => Promise<LedgerUnderTest>): void {
  tenantContract(open);
  countContract(open);
  reservationContract(open);
  reconcileContract(open);
  deleteContract(open);
  dueContract(open);
  tokenContract(open);
}
