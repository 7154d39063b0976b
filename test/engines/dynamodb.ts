import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import { createDynamoDb } from '../../lambda/core/table/client.ts';
import type { Table } from '../../lambda/core/table/requests.ts';
import { tableDefinition } from '../../lambda/core/table/table.ts';

export const dynamoDbLocal = { name: 'DynamoDB Local', urlVariable: 'ENGINE_DYNAMODB_URL' };

export interface EngineTable {
  readonly table: Table;
  /** Drops the table. */
  close(): Promise<void>;
}

/** Creates a new table on a DynamoDB engine, like a stage's. */
export async function openEngineTable(url: string): Promise<EngineTable> {
  const credentials = { accessKeyId: 'engine', secretAccessKey: 'engine' };
  const place = { endpoint: url, region: 'us-east-1', credentials };
  const engine = new DynamoDBClient(place);
  const tableName = `lfs-quota-${randomUUID()}`;
  await engine.send(new CreateTableCommand(tableDefinition(tableName))).catch((error: unknown) => {
    // A retry of our own, after the answer of a busy engine was lost: the name is random.
    if (!(error instanceof Error) || error.name !== 'ResourceInUseException') throw error;
  });
  const statusNow = async () =>
    (await engine.send(new DescribeTableCommand({ TableName: tableName }))).Table?.TableStatus;
  while ((await statusNow()) !== 'ACTIVE') await delay(100);
  return {
    table: { client: createDynamoDb(place), tableName },
    close: async () => void (await engine.send(new DeleteTableCommand({ TableName: tableName }))),
  };
}
