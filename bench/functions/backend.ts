import type { IncomingMessage, ServerResponse } from 'node:http';
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { createDynamoDb } from '../../lambda/adapters/dynamodb/client.ts';
import { tableDefinition } from '../../lambda/adapters/dynamodb/table.ts';
import { listenOnLoopback } from '../../local/http/listen.ts';
import { BackendServer } from './backend-server.ts';
import { countedNow, reset, type Standing, seedOnce } from './seed.ts';
import { tableName } from './world.ts';

/** What the benchmark asks of the backend's process. */
export type BackendRequest =
  | { readonly kind: 'begin'; readonly tls: { readonly key: string; readonly cert: string } }
  | { readonly kind: 'reset'; readonly standing: Standing }
  | { readonly kind: 'look' };

/** What calls have left behind. */
export interface Seen {
  readonly counted: { readonly objectCount: number; readonly countedAtMs: number } | null;
  /** Messages that the queue took since the last reset. */
  readonly messages: number;
}

export type BackendAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'begun'; readonly port: number }
  | { readonly kind: 'reset' }
  | ({ readonly kind: 'seen' } & Seen);

const table = dynalite({ createTableMs: 0 });
const tablePort = await listenOnLoopback(table, { port: 0, usedBy: 'the table' });
type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** The engine's own listener, to be called once the latency has passed. */
function listenerOf(server: typeof table): Listener {
  const [listener] = server.listeners('request') as Listener[];
  if (!listener) throw new Error('The table engine serves no requests.');
  return listener;
}

// The seed goes to the engine itself, without the latency.
const client = createDynamoDb({
  endpoint: `http://127.0.0.1:${tablePort}`,
  region: 'local',
  credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
});
await client.send(new CreateTableCommand(tableDefinition(tableName)));
let server: BackendServer | undefined;

async function answerTo(request: BackendRequest): Promise<BackendAnswer> {
  switch (request.kind) {
    case 'begin': {
      await seedOnce(client);
      server = new BackendServer({ tls: request.tls, table: listenerOf(table) });
      return { kind: 'begun', port: await server.listen() };
    }
    case 'reset':
      server?.prepare(request.standing.objects);
      await reset(client, request.standing);
      if (server) server.messages = 0;
      return { kind: 'reset' };
    case 'look':
      return { kind: 'seen', counted: await countedNow(client), messages: server?.messages ?? 0 };
  }
}

process.on('message', async (request: BackendRequest) => {
  process.send?.(await answerTo(request));
});
// The benchmark is gone: so is its backend.
process.on('disconnect', () => process.exit(0));
process.send?.({ kind: 'ready' } satisfies BackendAnswer);
