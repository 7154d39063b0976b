import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateTableCommand,
  DescribeTableCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import dynalite from 'dynalite';
import { createDynamoDb } from '../../lambda/adapters/dynamodb/client.ts';
import { tableDefinition } from '../../lambda/adapters/dynamodb/table.ts';
import { listenOnLoopback } from '../system/loopback-server.ts';
import { requireAccessKey } from './database-guard.ts';
import { repairDatabase } from './database-repair.ts';

export interface Database {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
  /** Whether the table was created, found, or repaired after a kill during its creation. */
  readonly origin: 'created' | 'found' | 'repaired';
  close(): Promise<void>;
}

const tableName = 'lfs-quota';

/** How long a new table may take to become active before the start fails. */
const tableWaitMs = 10_000;

/**
 * Starts a DynamoDB engine inside this process, on any free loopback port, with its data below `databasePath`. It
 * answers only to the access key of `client`, which is a new one at every start.
 */
export async function openDatabase(databasePath: string): Promise<Database> {
  const repair = await repairDatabase({ databasePath, tableName });
  const server = dynalite({ path: databasePath, createTableMs: 0 });
  // The client keeps its connections open. If the server closed idle ones, some requests would be cut.
  server.keepAliveTimeout = 0;
  server.on('request', ignoreAbort);
  const credentials = { accessKeyId: secret(), secretAccessKey: secret() };
  requireAccessKey(server, credentials.accessKeyId);
  const port = await listenOnLoopback(server, { port: 0, usedBy: 'the database' });
  const client = createDynamoDb({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'local',
    timeoutFactor: 10,
    credentials,
  });
  const close = async () => {
    // The document client's own `destroy` does nothing.
    client.config.requestHandler.destroy?.();
    await new Promise<void>((resolve, reject) => {
      server.close((error) => (error ? reject(error) : resolve()));
      server.closeIdleConnections();
    });
  };
  try {
    const found = await ensureTable(client);
    return { client, tableName, origin: found === 'created' || repair === 'whole' ? found : repair, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** 256 random bits. The access key must have no slash. */
const secret = () => randomBytes(32).toString('hex');

/**
 * When a client aborts a request, the engine throws from an event listener, which would end the whole process. An
 * aborted request needs no action, so the engine's listener is removed.
 */
function ignoreAbort(request: IncomingMessage): void {
  request.removeAllListeners('error');
  request.on('error', () => {});
}

async function ensureTable(client: DynamoDBDocumentClient): Promise<'created' | 'found'> {
  if ((await tableStatus(client)) === 'ACTIVE') return 'found';
  await client.send(new CreateTableCommand(tableDefinition(tableName)));
  const giveUpAtMs = performance.now() + tableWaitMs;
  while ((await tableStatus(client)) !== 'ACTIVE') {
    if (performance.now() > giveUpAtMs) throw new Error('The table did not become active.');
    await delay(10);
  }
  return 'created';
}

async function tableStatus(client: DynamoDBDocumentClient): Promise<string | undefined> {
  try {
    const described = await client.send(new DescribeTableCommand({ TableName: tableName }));
    return described.Table?.TableStatus;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}
