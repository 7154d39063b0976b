import { DeleteCommand, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { TokenRecord, TokenStore } from '../../ports/credentials.ts';
import { send, sendIf } from './client.ts';
import { absent, aliases, type Table } from './expressions.ts';
import { kindKey } from './items.ts';
import { pagesOf } from './pages.ts';
import { byKindIndex } from './table.ts';
import { batchGet } from './tenants.ts';

const tokenItem = z.object({
  tokenId: z.string(),
  secretSha256: z.string(),
  tenant: z.string(),
  scope: z.enum(['read', 'write']),
  label: z
    .string()
    .nullish()
    .transform((label) => label ?? null),
  createdAtMs: z.number(),
});

const tokenKey = (tokenId: string) => ({ pk: `TOKEN#${tokenId}`, sk: 'TOKEN' });

/** Token items: one a token, found by its public id. */
export function createDynamoDbTokenStore(table: Table): TokenStore {
  return {
    async find(tokenId) {
      const output = await send(() =>
        table.client.send(
          new GetCommand({ TableName: table.tableName, Key: tokenKey(tokenId), ConsistentRead: true }),
        ),
      );
      return output.Item && tokenItem.parse(output.Item);
    },
    put: (record) => put(table, record),
    delete: (token) => revoke(table, token),
    list: (tenant) => list(table, tenant),
  };
}

async function put(table: Table, record: TokenRecord) {
  const result = await sendIf(() =>
    table.client.send(
      new PutCommand({
        TableName: table.tableName,
        Item: {
          ...tokenKey(record.tokenId),
          ...kindKey(`TOKENS#${record.tenant}`, `${record.createdAtMs}#${record.tokenId}`),
          ...record,
          label: record.label ?? undefined,
        },
        ConditionExpression: absent,
        ExpressionAttributeNames: aliases('pk'),
      }),
    ),
  );
  return result.ok ? ('created' as const) : ('exists' as const);
}

async function revoke(table: Table, token: { tenant: string; tokenId: string }) {
  const result = await sendIf(() =>
    table.client.send(
      new DeleteCommand({
        TableName: table.tableName,
        Key: tokenKey(token.tokenId),
        ConditionExpression: '#tenant = :tenant',
        ExpressionAttributeNames: aliases('tenant'),
        ExpressionAttributeValues: { ':tenant': token.tenant },
      }),
    ),
  );
  return result.ok ? ('deleted' as const) : ('absent' as const);
}

async function list(table: Table, tenant: string): Promise<readonly TokenRecord[]> {
  const keys: Record<string, string>[] = [];
  const pages = pagesOf(table, {
    IndexName: byKindIndex.name,
    KeyConditionExpression: '#kind = :kind',
    ExpressionAttributeNames: { '#kind': byKindIndex.pk },
    ExpressionAttributeValues: { ':kind': `TOKENS#${tenant}` },
  });
  for await (const items of pages)
    keys.push(...items.map((item) => ({ pk: String(item['pk']), sk: String(item['sk']) })));
  const records = (await batchGet(table, keys)).map((item) => tokenItem.parse(item));
  return records.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.tokenId < b.tokenId ? -1 : 1));
}
