import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { AwsServiceError } from '../../lambda/adapters/aws-sdk/service-error.ts';
import { MemoryStore } from '../../local/table/memory-store.ts';
import { LocalTable } from '../../local/table/table.ts';
import { serve } from '../child/serve.ts';
import { BackendServer } from './backend-server.ts';
import { countedNow, reset, type Standing, seedOnce } from './seed.ts';

/** What calls have left behind. */
export interface Seen {
  readonly counted: { readonly objectCount: number; readonly countedAtMs: number } | null;
  /** Messages that the queue received since the last reset. */
  readonly messages: number;
}

const client = new LocalTable(new MemoryStore());

/** Answers DynamoDB's protocol from a table in memory. */
async function answerTable(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const operation = String(request.headers['x-amz-target']).split('.')[1];
  try {
    const output = await client.send(
      operation as 'GetItem',
      inner(JSON.parse(await text(request)), unmarshall),
    );
    response.writeHead(200).end(JSON.stringify(inner(output, marshall)));
  } catch (error) {
    if (!(error instanceof AwsServiceError)) throw error;
    const { code, message, status } = error;
    response.writeHead(status ?? 400).end(JSON.stringify({ __type: `dynamodb#${code}`, message }));
  }
}

const items = new Set([
  'Key',
  'Item',
  'Attributes',
  'ExclusiveStartKey',
  'LastEvaluatedKey',
  'ExpressionAttributeValues',
]);

/** The members of an input or an output, with another form of the items in it. */
function inner(members: object, convert: (item: never) => object): never {
  const entries = Object.entries(members).map(([name, value]) => {
    if (value === undefined) return [name, value];
    if (items.has(name)) return [name, convert(value as never)];
    if (name === 'Items' || name === 'Keys') return [name, value.map(convert)];
    if (name === 'Responses')
      return [
        name,
        Object.fromEntries(
          Object.entries(value).map(([table, all]) => [table, (all as never[]).map(convert)]),
        ),
      ];
    if (name === 'RequestItems' || name === 'UnprocessedKeys')
      return [
        name,
        Object.fromEntries(
          Object.entries(value).map(([table, asked]) => [table, inner(asked as object, convert)]),
        ),
      ];
    return [name, value];
  });
  return Object.fromEntries(entries) as never;
}

let server: BackendServer | undefined;

const api = {
  /** Seeds the table and starts the server. @returns its port. */
  begin: async (tls: { key: string; cert: string }): Promise<number> => {
    await seedOnce(client);
    server = new BackendServer({ tls, table: (request, response) => void answerTable(request, response) });
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
