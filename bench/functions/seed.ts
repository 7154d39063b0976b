import { repoKey } from '../../lambda/ledger/items.ts';
import { stored } from '../../lambda/table/stored-names.ts';
import { tenantKey } from '../../lambda/table/table.ts';
import { LocalTable, storesOn } from '../../local/table/table.ts';
import { newTenant } from '../../test/support/ledger-records.ts';
import { MemoryStore } from '../../test/support/memory/memory-store.ts';
import { tokenRecord } from '../../test/support/token-record.ts';

export const tenant = 'acme';
export const repo = 'app';
export const token = `lfsq_${'b'.repeat(40)}`;
export const tableName = 'lfs-quota';
const objectBytes = 1000;

/** A table in memory with a tenant, its token, and its one repo, which was counted so long ago. */
export async function seededTable(objects: number, { ageMs = 0 } = {}): Promise<LocalTable> {
  const client = new LocalTable(new MemoryStore());
  const { ledger, tokens } = storesOn({ client, tableName });
  const nowMs = Date.now();
  // Used within the hour, as nearly every token that is used: its use isn't written again.
  await tokens.put(tokenRecord(token, { tenant, createdAtMs: nowMs, lastUsedAtMs: nowMs }));
  const scanned = { storedBytes: objects * objectBytes, objectCount: objects, scannedAtMs: nowMs - ageMs };
  await ledger.createTenant(newTenant(tenant, { limitBytes: 1e15, scanned }));
  const put = (item: Record<string, unknown>) => client.send('PutItem', { TableName: tableName, Item: item });
  const { Item } = await client.send('GetItem', { TableName: tableName, Key: tenantKey(tenant) });
  // As after a first reconcile.
  await put({ ...Item, epoch: 1, appliedEpoch: 1 });
  await put(stored({ ...repoKey({ tenant, repo }), repo, ...scanned, epoch: 1, covered: [] }));
  return client;
}
