import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createDynamoDbAuditLog } from '../../lambda/adapters/dynamodb/audit-log.ts';
import { unmarkChange } from '../../lambda/adapters/dynamodb/deletions.ts';
import { createDynamoDbDownloads } from '../../lambda/adapters/dynamodb/downloads.ts';
import { createDynamoDbExchangeRules } from '../../lambda/adapters/dynamodb/exchange-rules.ts';
import { createDynamoDbExportJobs } from '../../lambda/adapters/dynamodb/export-jobs.ts';
import { updateExpression } from '../../lambda/adapters/dynamodb/expressions.ts';
import { createDynamoDbFailures } from '../../lambda/adapters/dynamodb/failures.ts';
import { createDynamoDbHistory } from '../../lambda/adapters/dynamodb/history.ts';
import { createDynamoDbKeptGrants } from '../../lambda/adapters/dynamodb/kept-grants.ts';
import { createDynamoDbLedger } from '../../lambda/adapters/dynamodb/ledger.ts';
import { createDynamoDbLocks } from '../../lambda/adapters/dynamodb/locks.ts';
import { createDynamoDbMappedRepos } from '../../lambda/adapters/dynamodb/mapped-repos.ts';
import { createDynamoDbPublicReads } from '../../lambda/adapters/dynamodb/public-reads.ts';
import { tenantChange } from '../../lambda/adapters/dynamodb/reconciles.ts';
import { createDynamoDbRequestKeys } from '../../lambda/adapters/dynamodb/request-keys.ts';
import { createDynamoDbTokenStore } from '../../lambda/adapters/dynamodb/token-store.ts';
import { createDynamoDbWarnings } from '../../lambda/adapters/dynamodb/warnings.ts';
import { createDynamoDbWebhooks } from '../../lambda/adapters/dynamodb/webhooks.ts';
import { newDeletion, unmarkedObjectsMax } from '../../lambda/domain/deletion.ts';
import { expiredNotes } from '../../lambda/domain/reconciliation.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { LedgerUnavailableError } from '../../lambda/ports/ledger-errors.ts';
import { openDatabase } from '../../local/data/database.ts';
import { MemoryStore } from '../../local/table/memory-store.ts';
import { LocalTable } from '../../local/table/table.ts';
import { auditLogContract } from './audit-log.contract.ts';
import { downloadsContract } from './downloads.contract.ts';
import { exchangeRulesContract } from './exchange-rules.contract.ts';
import { exportJobsContract } from './export-jobs.contract.ts';
import { failuresContract } from './failures.contract.ts';
import { historyContract } from './history.contract.ts';
import { keptGrantsContract } from './kept-grants.contract.ts';
import { ledgerContract } from './ledger.contract.ts';
import { type LedgerUnderTest, ledgerContext, plainCommit } from './ledger-context.ts';
import { locksContract } from './locks.contract.ts';
import { mappedReposContract } from './mapped-repos.contract.ts';
import { publicReadsContract } from './public-reads.contract.ts';
import { warningsContract } from './warnings.contract.ts';
import { webhooksContract } from './webhooks.contract.ts';

const expressionBytesMax = 4096;

/** Not part of the contract: an engine may take a longer expression than AWS does. */
function expressionLimit(open: () => Promise<LedgerUnderTest>): void {
  describe('an update expression', () => {
    const { get, create } = ledgerContext(open);
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `note${index}`);

    it('is refused if it is longer than DynamoDB allows', async () => {
      const tenant = await create();
      await get().ledger.beginReconcile({ tenant, holder: 'h', nowMs: 1000, leaseUntilMs: 2000 });
      const commit = { tenant, epoch: 1, ...plainCommit, dueAtMs: 9e15 };
      await expect(get().ledger.commitTenant({ ...commit, expiredNotes: ids(300) })).rejects.toThrow(
        LedgerUnavailableError,
      );
      const objects = { tenant, repo: 'app', deletionId: 'd', dueAtMs: 1, names: ids(300) };
      await expect(get().ledger.unmark(objects)).rejects.toThrow(LedgerUnavailableError);
      expect(await get().ledger.commitTenant({ ...commit, expiredNotes: [] })).toMatchObject({
        kind: 'committed',
      });
    });

    it('fits for as many notes as one commit removes, with every other field of it', async () => {
      const tenant = await create();
      const note = { repo: 'app', bytes: 1, deadlineMs: 5 };
      for (const noteId of ids(250)) await get().ledger.announceDelete({ tenant, noteId, note });
      const begun = await get().ledger.beginReconcile({
        tenant,
        holder: 'h',
        nowMs: 1000,
        leaseUntilMs: 2000,
      });
      if (begun.kind !== 'begun') throw new Error(begun.kind);
      const commit = { tenant, epoch: 1, ...plainCommit, dueAtMs: 9e15 };
      const expired = expiredNotes(defaultSettings, begun.before, 9e15);
      expect((await get().ledger.commitTenant({ ...commit, expiredNotes: expired })).kind).toBe('committed');
      expect((await get().ledger.readTenant(tenant))?.notes.size).toBe(250 - expired.length);
      expect(
        Buffer.byteLength(updateExpression(tenantChange({ ...commit, expiredNotes: expired }))),
      ).toBeLessThan(expressionBytesMax);
    });

    it('fits for as many objects as one write takes out of a deletion', async () => {
      const tenant = await create();
      const names = ids(unmarkedObjectsMax).map((id) => id.padStart(64, '0'));
      const objects = new Map(names.map((name) => [name, 1]));
      const deletion = newDeletion({ id: 'd', repo: 'app', objects, dueAtMs: 9e15 });
      await get().ledger.putDeletion({ tenant, deletion });
      const key = { tenant, repo: 'app', deletionId: 'd' };
      expect(await get().ledger.unmark({ ...key, dueAtMs: 9e15, names })).toBe('unmarked');
      expect(Buffer.byteLength(updateExpression(unmarkChange(names)))).toBeLessThan(expressionBytesMax);
    });
  });
}

describe('ledger on the table in memory', () => {
  const table = () => ({
    client: new LocalTable(new MemoryStore(), { pageItemsMax: 7 }),
    tableName: 'lfs-quota',
  });
  const open = async (on = table()) => ({
    ledger: createDynamoDbLedger(on),
    tokens: createDynamoDbTokenStore(on),
    requestKeys: createDynamoDbRequestKeys(on),
  });
  expressionLimit(open);
  ledgerContract(open);
  exportJobsContract(async () => createDynamoDbExportJobs(table()));
  exchangeRulesContract(async () => createDynamoDbExchangeRules(table()));
  downloadsContract(async () => createDynamoDbDownloads(table()));
  locksContract(async () => createDynamoDbLocks(table()));
  publicReadsContract(async () => createDynamoDbPublicReads(table()));
  mappedReposContract(async () => createDynamoDbMappedRepos(table()));
  keptGrantsContract(async () => createDynamoDbKeptGrants(table()));
  auditLogContract(async () => createDynamoDbAuditLog(table()));
  failuresContract(async () => createDynamoDbFailures(table()));
  historyContract(async () => createDynamoDbHistory(table()));
  warningsContract(async () => createDynamoDbWarnings(table()));
  webhooksContract(async () => createDynamoDbWebhooks(table()));
});

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
  const open = async () => ({
    ledger: createDynamoDbLedger(await table()),
    tokens: createDynamoDbTokenStore(await table()),
    requestKeys: createDynamoDbRequestKeys(await table()),
  });
  expressionLimit(open);
  ledgerContract(open);
  exportJobsContract(async () => createDynamoDbExportJobs(await table()));
  exchangeRulesContract(async () => createDynamoDbExchangeRules(await table()));
  downloadsContract(async () => createDynamoDbDownloads(await table()));
  locksContract(async () => createDynamoDbLocks(await table()));
  publicReadsContract(async () => createDynamoDbPublicReads(await table()));
  mappedReposContract(async () => createDynamoDbMappedRepos(await table()));
  keptGrantsContract(async () => createDynamoDbKeptGrants(await table()));
  auditLogContract(async () => createDynamoDbAuditLog(await table()));
  failuresContract(async () => createDynamoDbFailures(await table()));
  historyContract(async () => createDynamoDbHistory(await table()));
  warningsContract(async () => createDynamoDbWarnings(await table()));
  webhooksContract(async () => createDynamoDbWebhooks(await table()));
});
