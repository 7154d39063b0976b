import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CreateTableCommand, DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { afterAll, describe } from 'vitest';
import { createDynamoDb } from '../../lambda/adapters/aws/dynamodb-client.ts';
import { createDynamoDbLedger } from '../../lambda/adapters/aws/dynamodb-ledger.ts';
import { tableDefinition } from '../../lambda/adapters/aws/dynamodb-table.ts';
import { createDynamoDbTokenStore } from '../../lambda/adapters/aws/dynamodb-token-store.ts';
import { MemoryLedger } from '../../lambda/adapters/memory/memory-ledger.ts';
import { MemoryTokenStore } from '../../lambda/adapters/memory/memory-token-store.ts';
import { ledgerContract } from './ledger.contract.ts';

describe('ledger in memory', () => {
  ledgerContract(async () => ({ ledger: new MemoryLedger({ pageSize: 7 }), tokens: new MemoryTokenStore() }));
});

describe('ledger on dynalite', () => {
  let server: Server | undefined;
  afterAll(() => new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve())));
  ledgerContract(async () => {
    const started: Server = dynalite({ createTableMs: 0 });
    server = started;
    await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
    const { port } = started.address() as AddressInfo;
    const client = createDynamoDb({
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    });
    const tableName = 'ledger';
    await client.send(new CreateTableCommand(tableDefinition(tableName)));
    for (;;) {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
      if (Table?.TableStatus === 'ACTIVE') break;
    }
    const table = { client, tableName };
    return { ledger: createDynamoDbLedger(table), tokens: createDynamoDbTokenStore(table) };
  });
});
