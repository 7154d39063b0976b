import { dueKey, kindKey, parseTenant, repoKey, tenantKey } from '../../lambda/ledger/items.ts';
import { createDynamoDbTokenStore } from '../../lambda/people/token-store.ts';
import type { TableClient } from '../../lambda/table/table.ts';
import { tokenRecord } from '../../test/support/token-record.ts';

export const tenant = 'acme';
export const repo = 'app';
export const token = `lfsq_${'b'.repeat(40)}`;
export const tableName = 'lfs-quota';
const dayMs = 86_400_000;
const objectBytes = 1000;

/** Resets the tenant, its one repo and its token to their state before any call. */
export async function resetTable(client: TableClient, objects: number): Promise<void> {
  const nowMs = Date.now();
  await clear(client);
  // Used within the hour, as nearly every token that is used: its use isn't written again.
  const record = tokenRecord(token, { tenant, createdAtMs: nowMs, lastUsedAtMs: nowMs });
  await createDynamoDbTokenStore({ client, tableName }).put(record);
  await put(client, tenantItem({ objects, countedAtMs: nowMs }));
  const counted = { storedBytes: objects * objectBytes, objectCount: objects, countedAtMs: nowMs };
  await put(client, { ...repoKey({ tenant, repo }), repo, ...counted, epoch: 1, covered: [] });
}

async function clear(client: TableClient): Promise<void> {
  const found = await client.send('Query', {
    TableName: tableName,
    KeyConditionExpression: '#pk = :pk',
    ExpressionAttributeNames: { '#pk': 'pk' },
    ExpressionAttributeValues: { ':pk': tenantKey(tenant).pk },
  });
  for (const { pk, sk } of found.Items ?? [])
    await client.send('DeleteItem', { TableName: tableName, Key: { pk, sk } });
}

function tenantItem({ objects, countedAtMs }: { objects: number; countedAtMs: number }) {
  const bytes = objects * objectBytes;
  const item = {
    ...tenantKey(tenant),
    ...kindKey('TENANT', tenant),
    ...dueKey({ kind: 'TENANT', tenant, dueAtMs: countedAtMs + dayMs }),
    tenant,
    limitBytes: 1e15,
    createdAtMs: 1,
    committedBytes: bytes,
    epoch: 1,
    appliedEpoch: 1,
    floorBaseBytes: bytes,
    floorUntilMs: Number.MAX_SAFE_INTEGER,
    deletedBytes: 0,
    notes: {},
    leaseUntilMs: 0,
    listedUntilMs: 0,
    storedBytes: bytes,
    objectCount: objects,
    countedAtMs,
  };
  // An item that the functions can't parse would make the benchmark measure their errors.
  parseTenant(item);
  return item;
}

async function put(client: TableClient, item: Record<string, unknown>): Promise<void> {
  await client.send('PutItem', { TableName: tableName, Item: item });
}
