import type { IncomingMessage, ServerResponse } from 'node:http';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { createDynamoDb } from '../../lambda/adapters/dynamodb/client.ts';
import { tableDefinition } from '../../lambda/adapters/dynamodb/table.ts';
import { listenOnLoopback } from '../../local/system/loopback-server.ts';
import { serve } from '../child/serve.ts';
import { BackendServer } from './backend-server.ts';
import { countedNow, reset, type Standing, seedOnce } from './seed.ts';
import { tableName } from './world.ts';

/** What calls have left behind. */
export interface Seen {
  readonly counted: { readonly objectCount: number; readonly countedAtMs: number } | null;
  /** Messages that the queue received since the last reset. */
  readonly messages: number;
}

const table = dynalite({ createTableMs: 0 });
const tablePort = await listenOnLoopback(table, { port: 0, usedBy: 'the table' });
type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** The table engine's own listener. The backend calls it after the latency. */
function listenerOf(server: typeof table): Listener {
  const [listener] = server.listeners('request') as Listener[];
  if (!listener) throw new Error('The table engine serves no requests.');
  return listener;
}

// Seeding bypasses the latency: it talks to the table engine itself.
const place = {
  endpoint: `http://127.0.0.1:${tablePort}`,
  region: 'local',
  credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
};
const client = createDynamoDb(place);
await new DynamoDBClient(place).send(new CreateTableCommand(tableDefinition(tableName)));
let server: BackendServer | undefined;

const api = {
  /** Seeds the table and starts the server. @returns its port. */
  begin: async (tls: { key: string; cert: string }): Promise<number> => {
    await seedOnce(client);
    server = new BackendServer({ tls, table: listenerOf(table) });
    return server.listen();
  },
  reset: async (standing: Standing): Promise<void> => {
    server?.prepare(standing.objects);
    await reset(client, standing);
    if (server) server.messages = 0;
  },
  look: async (): Promise<Seen> => ({ counted: await countedNow(client), messages: server?.messages ?? 0 }),
};

export type BackendApi = typeof api;

serve(api);
