import { AwsServiceError } from '../../lambda/adapters/aws-sdk/service-error.ts';
import type { Fields } from '../../lambda/adapters/dynamodb/expressions.ts';
import { expiryAttribute, keyNames } from '../../lambda/adapters/dynamodb/table.ts';
import type { Database } from './database.ts';

/** Items that are looked at in one call. */
const pageItemsMax = 100;

export interface ExpiredPage {
  /** Removes what expired before this. */
  readonly beforeMs: number;
  /** Where the call before has stopped. undefined: at the beginning. */
  readonly after: Fields | undefined;
}

/**
 * Removes what has expired from a part of the table, as DynamoDB's TTL does. What is renewed meanwhile stays.
 *
 * @returns how many items were removed, and where to go on. `next` undefined: that was the last part.
 */
export async function removeExpired(
  { client, tableName: TableName }: Pick<Database, 'client' | 'tableName'>,
  { beforeMs, after }: ExpiredPage,
): Promise<{ readonly removed: number; readonly next: Fields | undefined }> {
  const ExpressionAttributeNames = { '#expires': expiryAttribute };
  const found = await client.send('Scan', {
    TableName,
    FilterExpression: '#expires < :before',
    ProjectionExpression: '#pk, #sk, #expires',
    ExpressionAttributeNames: { ...ExpressionAttributeNames, '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: { ':before': Math.floor(beforeMs / 1000) },
    Limit: pageItemsMax,
    ExclusiveStartKey: after,
  });
  let removed = 0;
  for (const { [expiryAttribute]: expires, ...Key } of found.Items ?? []) {
    const { Attributes } = await client
      .send('DeleteItem', {
        TableName,
        Key,
        ConditionExpression: '#expires = :read',
        ExpressionAttributeNames,
        ExpressionAttributeValues: { ':read': expires },
        ReturnValues: 'ALL_OLD',
      })
      .catch(unlessRenewed);
    if (Attributes) removed += 1;
  }
  return { removed, next: found.LastEvaluatedKey };
}

function unlessRenewed(error: unknown): { readonly Attributes?: Fields } {
  if (error instanceof AwsServiceError && error.code === 'ConditionalCheckFailedException') return {};
  throw error;
}
