import { BatchGetCommand, GetCommand, PutCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { AddOutcome, Input, Ledger } from '../../ports/ledger.ts';
import { send, sendIf } from './client.ts';
import { absent, aliases, all, exists, type Table } from './expressions.ts';
import { dueKey, kindKey, parseTenant, tenantKey, tenantOfPartition } from './items.ts';
import { pagesOf } from './pages.ts';
import { byDueIndex, byKindIndex, dueShards } from './table.ts';

type TenantMethods =
  | 'readTenant'
  | 'createTenant'
  | 'updateTenant'
  | 'addCommitted'
  | 'listTenants'
  | 'dueTenants'
  | 'closeTenant';

/** The tenant item: the account, its limit and the atomic counter. */
export function tenantMethods(table: Table): Pick<Ledger, TenantMethods> {
  return {
    readTenant: (tenant) => readTenant(table, tenant),
    createTenant: (tenant) => createTenant(table, tenant),
    updateTenant: (input) => updateTenant(table, input),
    addCommitted: (input) => addCommitted(table, input),
    listTenants: (input) => listTenants(table, input),
    dueTenants: (input) => dueTenants(table, input),
    closeTenant: (input) => closeTenant(table, input),
  };
}

export async function readTenant(table: Table, tenant: string): Promise<TenantRecord | undefined> {
  const output = await send(() =>
    table.client.send(
      new GetCommand({ TableName: table.tableName, Key: tenantKey(tenant), ConsistentRead: true }),
    ),
  );
  return output.Item && parseTenant(output.Item);
}

const createTenant = async (table: Table, input: Parameters<Ledger['createTenant']>[0]) => {
  const { counted, limitBytes, plan, dueAtMs, ...rest } = input;
  const item = {
    ...tenantKey(input.tenant),
    ...kindKey('TENANT', input.tenant),
    ...dueKey({ kind: 'TENANT', tenant: input.tenant, dueAtMs }),
    ...rest,
    plan: plan ?? undefined,
    // Absent means unlimited: a condition on the counter can then tell the two apart.
    limitBytes: limitBytes ?? undefined,
    committedBytes: counted?.storedBytes ?? 0,
    epoch: 0,
    appliedEpoch: 0,
    floorBaseBytes: counted?.storedBytes ?? 0,
    floorUntilMs: counted ? Number.MAX_SAFE_INTEGER : 0,
    deletedBytes: 0,
    notes: {},
    leaseUntilMs: 0,
    ...counted,
  };
  const result = await sendIf(() =>
    table.client.send(
      new PutCommand({
        TableName: table.tableName,
        Item: item,
        ConditionExpression: absent,
        ExpressionAttributeNames: aliases('pk'),
      }),
    ),
  );
  return result.ok ? ('created' as const) : ('exists' as const);
};

const updateTenant = async (table: Table, { tenant, ...change }: Input<'updateTenant'>) => {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  if (given.length === 0) return readTenant(table, tenant);
  const sets = given.filter(([, value]) => value !== null);
  const removes = given.filter(([, value]) => value === null);
  const expression = [
    sets.length > 0 ? `SET ${sets.map(([name]) => `#${name} = :${name}`).join(', ')}` : '',
    removes.length > 0 ? `REMOVE ${removes.map(([name]) => `#${name}`).join(', ')}` : '',
  ];
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: tenantKey(tenant),
        UpdateExpression: expression.join(' ').trim(),
        ConditionExpression: exists,
        ExpressionAttributeNames: aliases('pk', ...given.map(([name]) => name)),
        ...(sets.length > 0 && {
          ExpressionAttributeValues: Object.fromEntries(sets.map(([name, value]) => [`:${name}`, value])),
        }),
        ReturnValues: 'ALL_NEW',
      }),
    ),
  );
  return result.ok ? parseTenant(result.output.Attributes) : undefined;
};

const closeTenant = async (table: Table, input: { tenant: string; closedAtMs: number }) => {
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: tenantKey(input.tenant),
        // Due at once: should the request for emptying it be lost, the schedule comes. The next epoch is taken, so
        // that no reconcile from before says otherwise.
        UpdateExpression:
          'SET #closedAtMs = :closedAtMs, #dueat = :closedAtMs, #epoch = #epoch + :one, #leaseUntilMs = :none',
        ConditionExpression: all(exists, 'attribute_not_exists(#closedAtMs)'),
        ExpressionAttributeNames: {
          ...aliases('pk', 'closedAtMs', 'epoch', 'leaseUntilMs'),
          '#dueat': byDueIndex.sk,
        },
        ExpressionAttributeValues: { ':closedAtMs': input.closedAtMs, ':one': 1, ':none': 0 },
        ReturnValues: 'ALL_NEW',
      }),
    ),
  );
  return result.ok ? parseTenant(result.output.Attributes) : readTenant(table, input.tenant);
};

/**
 * The one write of a batch to the tenant item. DynamoDB's conditions have no arithmetic, so the ceiling is
 * computed from the limit that was read, and the condition says that it is still that limit.
 */
async function addCommitted(
  table: Table,
  input: { tenant: string; sumBytes: number; limitBytes: number | null },
): Promise<AddOutcome> {
  const { tenant, sumBytes, limitBytes } = input;
  const ceiling = (limitBytes ?? Number.MAX_SAFE_INTEGER) - sumBytes;
  const withinLimit =
    limitBytes === null
      ? ['attribute_not_exists(#limitBytes)']
      : ['#limitBytes = :limit', 'attribute_exists(#countedAtMs)'];
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: tenantKey(tenant),
        UpdateExpression: 'ADD #committedBytes :sum',
        ConditionExpression: all(
          exists,
          'attribute_not_exists(#closedAtMs)',
          '#committedBytes <= :ceiling',
          ...withinLimit,
        ),
        ExpressionAttributeNames: aliases(
          'pk',
          'committedBytes',
          'closedAtMs',
          'limitBytes',
          ...(limitBytes === null ? [] : ['countedAtMs']),
        ),
        ExpressionAttributeValues: {
          ':sum': sumBytes,
          ':ceiling': ceiling,
          ...(limitBytes !== null && { ':limit': limitBytes }),
        },
      }),
    ),
  );
  if (result.ok) return { kind: 'added' };
  const now = await readTenant(table, tenant);
  return now ? { kind: 'refused', tenant: now } : { kind: 'absent' };
}

async function listTenants(table: Table, input: { after?: string; pageSize: number }) {
  const output = await send(() =>
    table.client.send(
      new QueryCommand({
        TableName: table.tableName,
        IndexName: byKindIndex.name,
        KeyConditionExpression: '#kind = :kind AND #name > :after',
        ExpressionAttributeNames: { '#kind': byKindIndex.pk, '#name': byKindIndex.sk },
        // A space sorts before every character of a name.
        ExpressionAttributeValues: { ':kind': 'TENANT', ':after': input.after ?? ' ' },
        Limit: input.pageSize,
      }),
    ),
  );
  const names = (output.Items ?? []).map((item) => tenantOfPartition(String(item['pk'])));
  const records = await batchGet(table, names.map(tenantKey));
  return records.map(parseTenant).sort((a, b) => (a.tenant < b.tenant ? -1 : 1));
}

/** Reads items by key, 100 a request, and asks again for what the table left unprocessed. */
export async function batchGet(
  table: Table,
  keys: readonly Record<string, string>[],
): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const left = [...keys];
  for (let attempt = 0; left.length > 0; attempt += 1) {
    if (attempt > keys.length + 10)
      throw new Error('The table keeps leaving keys of a BatchGetItem unprocessed.');
    const chunk = left.splice(0, 100);
    const output = await send(() =>
      table.client.send(
        new BatchGetCommand({ RequestItems: { [table.tableName]: { Keys: chunk, ConsistentRead: true } } }),
      ),
    );
    found.push(...(output.Responses?.[table.tableName] ?? []));
    left.push(...((output.UnprocessedKeys?.[table.tableName]?.Keys ?? []) as Record<string, string>[]));
  }
  return found;
}

const duePagesMax = 20;

async function dueTenants(table: Table, input: { nowMs: number; tenantsMax: number }) {
  const partitions = ['TENANT', 'RESERVATION', 'DELETION'].flatMap((kind) =>
    Array.from({ length: dueShards }, (_, shard) => `${kind}#${shard}`),
  );
  const found = await Promise.all(partitions.map((partition) => dueOfPartition(table, partition, input)));
  const oldestFirst = found.flat().sort((a, b) => a.dueAtMs - b.dueAtMs);
  const full = new Set(
    found
      .flat()
      .filter((due) => due.full)
      .map((due) => due.tenant),
  );
  const tenants = [...new Set(oldestFirst.map((due) => due.tenant))].slice(0, input.tenantsMax);
  return tenants.map((tenant) => ({ tenant, full: full.has(tenant) }));
}

/** Pages on while all that was found is of few tenants: one tenant may have thousands of dead reservations. */
async function dueOfPartition(table: Table, partition: string, input: { nowMs: number; tenantsMax: number }) {
  const due = new Map<string, number>();
  const pages = pagesOf(table, {
    IndexName: byDueIndex.name,
    KeyConditionExpression: '#due = :due AND #at <= :now',
    ExpressionAttributeNames: { '#due': byDueIndex.pk, '#at': byDueIndex.sk },
    ExpressionAttributeValues: { ':due': partition, ':now': input.nowMs },
  });
  let pagesLeft = duePagesMax;
  for await (const items of pages) {
    for (const item of items) {
      const tenant = tenantOfPartition(String(item['pk']));
      if (!due.has(tenant)) due.set(tenant, Number(item[byDueIndex.sk]));
    }
    pagesLeft -= 1;
    if (pagesLeft === 0 || due.size >= input.tenantsMax) break;
  }
  return [...due].map(([tenant, dueAtMs]) => ({ tenant, dueAtMs, full: partition.startsWith('TENANT#') }));
}
