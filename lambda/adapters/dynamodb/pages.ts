import { send } from './client.ts';
import { tenantKey } from './items.ts';
import type { Table } from './requests.ts';
import { keyNames } from './table.ts';
import type { Query } from './table-client.ts';

/**
 * What a query finds, a page at a time. The next page is read when the caller asks for it.
 *
 * @throws {LedgerUnavailableError}
 */
export async function* pagesOf(
  table: Table,
  query: Query,
): AsyncIterable<readonly Record<string, unknown>[]> {
  let startKey: Record<string, unknown> | undefined;
  do {
    const output = await send(() =>
      table.client.send('Query', { ...query, TableName: table.tableName, ExclusiveStartKey: startKey }),
    );
    yield output.Items ?? [];
    startKey = output.LastEvaluatedKey;
  } while (startKey);
}

/**
 * All items of a tenant whose sort keys begin with `prefix`, strongly consistent, a page at a time.
 *
 * @param input.until only those whose keys are no greater than this, which begins with `prefix`.
 */
export function itemsBelow(
  table: Table,
  { tenant, prefix, until }: { tenant: string; prefix: string; until?: string },
): AsyncIterable<readonly Record<string, unknown>[]> {
  const range = until === undefined ? 'begins_with(#sk, :prefix)' : '#sk BETWEEN :prefix AND :until';
  return pagesOf(table, {
    KeyConditionExpression: `#pk = :pk AND ${range}`,
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: {
      ':pk': tenantKey(tenant).pk,
      ':prefix': prefix,
      ...(until !== undefined && { ':until': until }),
    },
    ConsistentRead: true,
  });
}

/**
 * The query for a tenant's items whose sort keys begin with `prefix`, strongly consistent, from one of them on.
 *
 * @param input.prefix ends with `#`.
 * @param input.after a sort key with that prefix, whether or not there is such an item. Default: from the first on.
 * @param input.before up to a sort key that no item has. Default: to the last one.
 */
export function keysAfter(input: {
  tenant: string;
  prefix: string;
  after?: string | undefined;
  before?: string | undefined;
}) {
  const { tenant, prefix, after, before } = input;
  return {
    KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :from AND :to',
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: {
      ':pk': tenantKey(tenant).pk,
      // Both ends of BETWEEN are included, so it begins right after the key of `after`.
      ':from': after === undefined ? prefix : `${after}\u0000`,
      // `$` is the character after `#`: whatever follows the prefix, it comes before this, and no item is at it.
      ':to': before ?? `${prefix.slice(0, -1)}$`,
    },
    ConsistentRead: true,
  } as const;
}

/**
 * One answer to a query: at most its `Limit`, and at most 1 MB of items.
 *
 * @returns the items, and whether more may follow.
 * @throws {LedgerUnavailableError}
 */
export async function onePage(
  table: Table,
  query: Query & { Limit: number },
): Promise<{ items: readonly Record<string, unknown>[]; hasMore: boolean }> {
  const output = await send(() => table.client.send('Query', { ...query, TableName: table.tableName }));
  return { items: output.Items ?? [], hasMore: output.LastEvaluatedKey !== undefined };
}

/** The first items of a query, at most its `Limit`, whatever pages they come in. */
export async function firstItems(
  table: Table,
  query: Query & { Limit: number },
): Promise<readonly Record<string, unknown>[]> {
  const { Limit: countMax, ...unlimited } = query;
  const found: Record<string, unknown>[] = [];
  // What a filter leaves out counts to DynamoDB's limit: a page of a few would be nearly empty.
  for await (const items of pagesOf(table, query.FilterExpression === undefined ? query : unlimited)) {
    found.push(...items);
    if (found.length >= countMax) break;
  }
  return found.slice(0, countMax);
}
