import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { openDatabase } from '../../local/data/database.ts';
import { expressionLimit } from './expression-limit.contract.ts';
import { tableContract } from './table.contract.ts';

describe('ledger on LevelDB, as the embedded stack runs it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-ledger-'));
  afterAll(async () => {
    await (await opened)?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  let opened: ReturnType<typeof openDatabase> | undefined;
  const table = () => {
    // Nothing is kept parsed: each read is one of the disk.
    opened ??= openDatabase(join(folder, 'table'), { cacheBytesMax: 0, limits: { pageItemsMax: 7 } });
    return opened;
  };
  expressionLimit(table);
  tableContract(table);
});
