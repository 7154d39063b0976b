import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CreateTableCommand, DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { afterAll, describe } from 'vitest';
import { createDynamoDb } from '../../lambda/adapters/dynamodb/client.ts';
import { createDynamoDbLedger } from '../../lambda/adapters/dynamodb/ledger.ts';
import { createDynamoDbRequestKeys } from '../../lambda/adapters/dynamodb/request-keys.ts';
import { tableDefinition } from '../../lambda/adapters/dynamodb/table.ts';
import { createDynamoDbTokenStore } from '../../lambda/adapters/dynamodb/token-store.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';
import { MemoryRequestKeys } from '../support/memory/request-keys.ts';
import { MemoryTokenStore } from '../support/memory/token-store.ts';
import { admissionContract } from './admission.contract.ts';
import { ledgerContract } from './ledger.contract.ts';

describe('ledger in memory', () => {
  ledgerContract(async () => ({
    ledger: new MemoryLedger({ pageSize: 7 }),
    tokens: new MemoryTokenStore(),
    requestKeys: new MemoryRequestKeys(),
  }));
  admissionContract(async () => new MemoryLedger(), 30_000);
});

describe('ledger on dynalite', () => {
  let server: Server | undefined;
  afterAll(() => new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve())));
  const openTable = async () => {
    const started: Server = dynalite({ createTableMs: 0 });
    server = started;
    await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
    const { port } = started.address() as AddressInfo;
    const client = createDynamoDb({
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      timeoutFactor: 10,
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    });
    const tableName = 'ledger';
    await client.send(new CreateTableCommand(tableDefinition(tableName)));
    for (;;) {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
      if (Table?.TableStatus === 'ACTIVE') break;
    }
    return { client, tableName };
  };
  let opened: ReturnType<typeof openTable> | undefined;
  const table = () => {
    opened ??= openTable();
    return opened;
  };
  ledgerContract(async () => ({
    ledger: createDynamoDbLedger(await table()),
    tokens: createDynamoDbTokenStore(await table()),
    requestKeys: createDynamoDbRequestKeys(await table()),
  }));
  admissionContract(async () => createDynamoDbLedger(await table()), 120_000);
});
