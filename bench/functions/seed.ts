import { dueKey, kindKey, parseTenant, repoKey, tenantKey } from '../../lambda/adapters/dynamodb/items.ts';
import { createDynamoDbLedger } from '../../lambda/adapters/dynamodb/ledger.ts';
import type { TableClient } from '../../lambda/adapters/dynamodb/table-client.ts';
import { readTenant } from '../../lambda/adapters/dynamodb/tenants.ts';
import { createDynamoDbTokenStore } from '../../lambda/adapters/dynamodb/token-store.ts';
import { reservationIdOf } from '../../lambda/domain/reservation.ts';
import { tokenRecord } from '../../test/support/token-record.ts';
import { repo, storedBytes, tableName, tenant, token, verifiedOid, verifyToken } from './world.ts';

const hourMs = 3_600_000;

/** The usage of the tenant before a call. */
export interface Standing {
  /** Objects that the last count found in its one repo. */
  readonly objects: number;
  /** Counted too long ago to be shown, and due. */
  readonly isStale: boolean;
}

/** Resets the tenant, its one repo, its token and a reservation to their state before any call. */
export async function resetTable(client: TableClient, { objects, isStale }: Standing): Promise<void> {
  const nowMs = Date.now();
  const countedAtMs = nowMs - (isStale ? 48 : 0) * hourMs;
  await clear(client);
  // Used within the hour, as nearly every token that is used: its use isn't written again.
  const record = tokenRecord(token, { tenant, createdAtMs: nowMs, lastUsedAtMs: nowMs });
  await createDynamoDbTokenStore({ client, tableName }).put(record);
  await put(client, tenantItem({ objects, countedAtMs }));
  const counted = { storedBytes: objects * storedBytes, objectCount: objects, countedAtMs };
  await put(client, { ...repoKey({ tenant, repo }), repo, ...counted, epoch: 1, covered: [] });
  const expiresAtMs = nowMs + hourMs;
  await createDynamoDbLedger({ client, tableName }).putReservation({
    tenant,
    reservation: {
      id: reservationIdOf(verifyToken),
      repo,
      state: 'issued',
      claims: new Map([[verifiedOid, storedBytes]]),
      createdAtMs: nowMs,
      expiresAtMs,
      lookAtMs: null,
      deadAtMs: expiresAtMs + hourMs,
    },
  });
}

/** The last count of the tenant in the ledger. */
export async function countedNow(client: TableClient) {
  return (await readTenant({ client, tableName }, tenant))?.counted ?? null;
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
  const bytes = objects * storedBytes;
  const item = {
    ...tenantKey(tenant),
    ...kindKey('TENANT', tenant),
    ...dueKey({ kind: 'TENANT', tenant, dueAtMs: countedAtMs + 24 * hourMs }),
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
