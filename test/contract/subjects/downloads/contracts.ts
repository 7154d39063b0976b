import type { OpenTable } from '../../ledger-context.ts';
import { downloadsContract } from './downloads.contract.ts';
import { publicReadsContract } from './public-reads.contract.ts';

export function contractsOfDownloads(table: OpenTable): void {
  downloadsContract(table);
  publicReadsContract(table);
}
