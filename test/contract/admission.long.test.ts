import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { createDynamoDbLedger } from '../../lambda/core/ledger/ledger.ts';
import { openDatabase } from '../../local/data/database.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';
import { admissionContract } from './admission.contract.ts';

describe('on the table in memory', () => {
  admissionContract(async () => new MemoryLedger(), 30_000);
});

describe('on LevelDB, as the embedded stack runs it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-admission-'));
  let opened: ReturnType<typeof openDatabase> | undefined;
  afterAll(async () => {
    await (await opened)?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  admissionContract(async () => {
    opened ??= openDatabase(join(folder, 'table'));
    return createDynamoDbLedger(await opened);
  }, 120_000);
});
