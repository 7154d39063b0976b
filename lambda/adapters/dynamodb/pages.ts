import { QueryCommand, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { send } from './client.ts';
import { aliases, type Table } from './expressions.ts';
import { tenantKey } from './items.ts';

/**
 * What a query finds, a page at a time; the next page is read when it is asked for.
 *
 * @throws {LedgerUnavailableError}
 */
export async function* pagesOf(
  table: Table,
  query: Omit<QueryCommandInput, 'TableName' | 'ExclusiveStartKey'>,
): AsyncIterable<readonly Record<string, unknown>[]> {
  let startKey: Record<string, unknown> | undefined;
  do {
    const output = await send(() =>
      table.client.send(
        new QueryCommand({
          ...query,
          TableName: table.tableName,
          ...(startKey && { ExclusiveStartKey: startKey }),
        }),
      ),
    );
    yield output.Items ?? [];
    startKey = output.LastEvaluatedKey;
  } while (startKey);
}

/** All items of a tenant of one kind, strongly consistent, a page at a time. */
export function itemsBelow(
  table: Table,
  input: { tenant: string; kind: string },
): AsyncIterable<readonly Record<string, unknown>[]> {
  return pagesOf(table, {
    KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :kind)',
    ExpressionAttributeNames: aliases('pk', 'sk'),
    ExpressionAttributeValues: { ':pk': tenantKey(input.tenant).pk, ':kind': input.kind },
    ConsistentRead: true,
  });
}
