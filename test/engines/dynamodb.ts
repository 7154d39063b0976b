import { randomUUID } from 'node:crypto';
import { CreateTableCommand, DeleteTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
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
  const credentials = { accessKeyId: 'engine', secretAccessKey: 'engine' };
  const client = createDynamoDb({ endpoint: url, region: 'us-east-1', credentials });
  const tableName = `lfs-quota-${randomUUID()}`;
  await client.send(new CreateTableCommand(tableDefinition(tableName)));
  await waitUntilTableExists({ client, maxWaitTime: 20, minDelay: 1, maxDelay: 1 }, { TableName: tableName });
  return {
    table: { client, tableName },
    close: async () => {
      await client.send(new DeleteTableCommand({ TableName: tableName }));
      client.config.requestHandler.destroy?.();
    },
  };
}
