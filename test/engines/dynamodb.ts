import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createDynamoDb } from '../../lambda/adapters/dynamodb/client.ts';
import type { Table } from '../../lambda/adapters/dynamodb/requests.ts';
import { tableDefinition } from '../../lambda/adapters/dynamodb/table.ts';

export const dynamoDbLocal = { name: 'DynamoDB Local', urlVariable: 'ENGINE_DYNAMODB_URL' };

export interface EngineTable {
  readonly table: Table;
  /** Drops the table. */
  close(): Promise<void>;
}

/** Creates a new table on a DynamoDB engine, like a stage's. */
export async function openEngineTable(url: string): Promise<EngineTable> {
  const credentials = () => ({ accessKeyId: 'engine', secretAccessKey: 'engine' });
  const client = createDynamoDb({ endpoint: url, region: 'us-east-1', credentials });
  const tableName = `lfs-quota-${randomUUID()}`;
  await client.send('CreateTable', tableDefinition(tableName)).catch((error: unknown) => {
    // A retry of our own, after the answer of a busy engine was lost: the name is random.
    if (!(error instanceof Error) || error.name !== 'ResourceInUseException') throw error;
  });
  const statusNow = async () =>
    (await client.send('DescribeTable', { TableName: tableName })).Table?.TableStatus;
  while ((await statusNow()) !== 'ACTIVE') await delay(100);
  return {
    table: { client, tableName },
    close: async () => void (await client.send('DeleteTable', { TableName: tableName })),
  };
}
