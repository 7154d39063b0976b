import { describe } from 'vitest';
import { LocalTable } from '../../local/table/table.ts';
import { MemoryStore } from '../support/memory/memory-store.ts';
import { expressionLimit } from './expression-limit.contract.ts';
import { tableContract } from './table.contract.ts';

describe('ledger on the table in memory', () => {
  // One for all, as an engine has it: some tests write with one store and read with another.
  const target = { client: new LocalTable(new MemoryStore(), { pageItemsMax: 7 }), tableName: 'lfs-quota' };
  const table = () => target;
  expressionLimit(table);
  tableContract(table);
});
