import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { RepoRecord } from '../../domain/tenant.ts';
import type { Ledger, RepoCommit, TenantCommit } from '../../ports/ledger.ts';
import { send, sendIf } from './client.ts';
import { aliases, all, exists, type Table } from './expressions.ts';
import { dueKey, parseRepo, parseTenant, repoKey, tenantKey } from './items.ts';
import { itemsBelow } from './pages.ts';
import { byDueIndex } from './table.ts';
import { readTenant } from './tenants.ts';

type ReconcileMethods = 'repos' | 'beginReconcile' | 'setLease' | 'commitRepo' | 'commitTenant';

/** What a reconcile writes: epochs decide which of several may. */
export function reconcileMethods(table: Table): Pick<Ledger, ReconcileMethods> {
  return {
    repos: (tenant) => repos(table, tenant),
    beginReconcile: (input) => beginReconcile(table, input),
    setLease: (input) => setLease(table, input),
    commitRepo: (input) => commitRepo(table, input),
    commitTenant: (input) => commitTenant(table, input),
  };
}

async function* repos(table: Table, tenant: string): AsyncIterable<readonly RepoRecord[]> {
  for await (const items of itemsBelow(table, { tenant, kind: 'REPO#' })) yield items.map(parseRepo);
}

const beginReconcile: (
  table: Table,
  input: Parameters<Ledger['beginReconcile']>[0],
) => ReturnType<Ledger['beginReconcile']> = async (table, { tenant, nowMs, leaseUntilMs }) => {
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: tenantKey(tenant),
        UpdateExpression: 'SET #epoch = #epoch + :one, #leaseUntilMs = :lease',
        ConditionExpression: all(exists, '#leaseUntilMs <= :now'),
        ExpressionAttributeNames: aliases('pk', 'epoch', 'leaseUntilMs'),
        ExpressionAttributeValues: { ':one': 1, ':lease': leaseUntilMs, ':now': nowMs },
        ReturnValues: 'ALL_OLD',
      }),
    ),
  );
  if (result.ok) {
    const before = parseTenant(result.output.Attributes);
    return { kind: 'begun', epoch: before.epoch + 1, before };
  }
  const now = await readTenant(table, tenant);
  return now ? { kind: 'busy', leaseUntilMs: now.leaseUntilMs } : { kind: 'absent' };
};

async function setLease(table: Table, input: Parameters<Ledger['setLease']>[0]) {
  const { leaseUntilMs, listedUntilMs } = input;
  const fields = { leaseUntilMs, ...(listedUntilMs !== undefined && { listedUntilMs }) };
  const names = Object.keys(fields);
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: tenantKey(input.tenant),
        UpdateExpression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
        ConditionExpression: all(exists, '#epoch = :epoch'),
        ExpressionAttributeNames: aliases('pk', 'epoch', ...names),
        ExpressionAttributeValues: {
          ':epoch': input.epoch,
          ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [`:${name}`, value])),
        },
      }),
    ),
  );
  return result.ok ? ('ours' as const) : ('superseded' as const);
}

async function commitRepo(
  table: Table,
  input: { tenant: string; repo: RepoCommit; dirtyTokenRead: string | null },
) {
  const { repo, dirtyTokenRead } = input;
  const Key = repoKey({ tenant: input.tenant, repo: repo.repo });
  const dirtyAsRead = dirtyTokenRead === null ? 'attribute_not_exists(#dirtyToken)' : '#dirtyToken = :dirty';
  const fields = ['repo', 'storedBytes', 'objectCount', 'countedAtMs', 'epoch', 'covered'] as const;
  const values = { ...repo, covered: [...repo.covered] };
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key,
        UpdateExpression: `SET ${fields.map((name) => `#${name} = :${name}`).join(', ')} REMOVE #dirtyToken`,
        ConditionExpression: all('(attribute_not_exists(#epoch) OR #epoch < :epoch)', dirtyAsRead),
        ExpressionAttributeNames: aliases('dirtyToken', ...fields),
        ExpressionAttributeValues: {
          ...Object.fromEntries(fields.map((name) => [`:${name}`, values[name]])),
          ...(dirtyTokenRead !== null && { ':dirty': dirtyTokenRead }),
        },
      }),
    ),
  );
  if (result.ok) return 'committed' as const;
  const now = await send(() =>
    table.client.send(new GetCommand({ TableName: table.tableName, Key, ConsistentRead: true })),
  );
  // Refused, yet the epoch is ours: this was our own retry after a lost answer.
  return now.Item?.['epoch'] === repo.epoch ? ('committed' as const) : ('superseded' as const);
}

const commitTenant: (table: Table, commit: TenantCommit) => ReturnType<Ledger['commitTenant']> = async (
  table,
  commit,
) => {
  const fields = {
    appliedEpoch: commit.epoch,
    floorBaseBytes: commit.floorBaseBytes,
    floorUntilMs: commit.floorUntilMs,
    ...commit.counted,
    leaseUntilMs: 0,
    listedUntilMs: commit.listedUntilMs,
    ...(commit.dueAtMs !== null && {
      [byDueIndex.sk]: dueKey({ kind: 'TENANT', tenant: commit.tenant, dueAtMs: commit.dueAtMs })[
        byDueIndex.sk
      ],
    }),
  };
  const names = Object.keys(fields);
  const removes = commit.expiredNotes.map((_, index) => `#notes.#note${index}`);
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: tenantKey(commit.tenant),
        UpdateExpression: [
          `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
          'ADD #committedBytes :correction',
          removes.length > 0 ? `REMOVE ${removes.join(', ')}` : '',
        ].join(' '),
        ConditionExpression: all(exists, '#epoch = :appliedEpoch', '#appliedEpoch < :appliedEpoch'),
        ExpressionAttributeNames: {
          ...aliases('pk', 'epoch', 'committedBytes', ...names, ...(removes.length > 0 ? ['notes'] : [])),
          ...Object.fromEntries(commit.expiredNotes.map((id, index) => [`#note${index}`, id])),
        },
        ExpressionAttributeValues: {
          ':correction': commit.correctionBytes,
          ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [`:${name}`, value])),
        },
        ReturnValues: 'ALL_NEW',
      }),
    ),
  );
  if (result.ok) return { kind: 'committed', tenant: parseTenant(result.output.Attributes) };
  const now = await readTenant(table, commit.tenant);
  // Refused, yet applied: this was our own retry after a lost answer.
  return now?.appliedEpoch === commit.epoch ? { kind: 'committed', tenant: now } : { kind: 'superseded' };
};
