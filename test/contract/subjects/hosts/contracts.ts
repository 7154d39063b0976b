import type { OpenTable } from '../../ledger-context.ts';
import { keptGrantsContract } from './kept-grants.contract.ts';
import { linkedReposContract } from './linked-repos.contract.ts';

export function contractsOfHosts(table: OpenTable): void {
  keptGrantsContract(table);
  linkedReposContract(table);
}
