import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { AwsServiceError } from '../../lambda/aws/sdk.ts';
import { listenOnLoopback } from '../../local/system/loopback-server.ts';
import { MemoryStore } from '../../local/table/memory-store.ts';
import { LocalTable } from '../../local/table/table.ts';
import { ListServer } from '../list-server/server.ts';
import { serve } from '../serve.ts';
import { resetTable } from './seed.ts';

/** Time to the first byte of each service. The table's own work comes on top. */
const latenciesMs = { table: 5, queue: 8, secret: 20, head: 20, list: 100 } as const;

const table = new LocalTable(new MemoryStore());
const list = new ListServer();
list.latencyMs = latenciesMs.list;

/**
 * All services that a function calls, on one port with TLS. The header that names an operation distinguishes them; S3
 * has none.
 */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [service = '', operation = ''] = String(request.headers['x-amz-target'] ?? '').split('.');
  if (service.startsWith('DynamoDB')) {
    await sleep(latenciesMs.table);
    await answerTable(operation, request, response);
  } else if (service === 'AmazonSQS') {
    const message = (await json(request)) as { MessageBody?: string };
    await sleep(latenciesMs.queue);
    answerJson(response, sent(message));
  } else if (service === 'secretsmanager') {
    await sleep(latenciesMs.secret);
    answerJson(response, { Name: 'admin', SecretString: 'bench-admin-token' });
  } else if (request.method === 'HEAD') {
    await sleep(latenciesMs.head);
    // No object that is asked for is stored. Like S3: without either header, Node would close the connection.
    response.writeHead(404, { 'content-type': 'application/xml', 'transfer-encoding': 'chunked' }).end();
  } else {
    await list.answer(request, response);
  }
}

function answerJson(response: ServerResponse, body: object, status = 200): void {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'R1' };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

/** DynamoDB's protocol, from a table in memory. */
async function answerTable(
  operation: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const input = withItems((await json(request)) as object, unmarshall);
    const output = await table.send(operation as 'GetItem', input as never);
    answerJson(response, withItems(output, marshall));
  } catch (error) {
    if (!(error instanceof AwsServiceError)) throw error;
    const { code, message, status } = error;
    answerJson(response, { __type: `dynamodb#${code}`, message }, status ?? 400);
  }
}

/** Where the members of an input or an output have items: one, a list, or by the name of a table. */
const itemPaths: Readonly<Record<string, 'item' | 'items' | 'items by table' | 'requests by table'>> = {
  Key: 'item',
  Item: 'item',
  Attributes: 'item',
  ExclusiveStartKey: 'item',
  LastEvaluatedKey: 'item',
  ExpressionAttributeValues: 'item',
  Items: 'items',
  Keys: 'items',
  Responses: 'items by table',
  RequestItems: 'requests by table',
  UnprocessedKeys: 'requests by table',
};

/** The members of an input or an output, with another form of the items in it. */
function withItems(members: object, convert: (item: never) => object): object {
  const mapValues = (value: object, map: (inner: never) => unknown) =>
    Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, map(inner as never)]));
  const converted = Object.entries(members).map(([name, value]) => {
    if (value === undefined) return [name, value];
    switch (itemPaths[name]) {
      case 'item':
        return [name, convert(value as never)];
      case 'items':
        return [name, value.map(convert)];
      case 'items by table':
        return [name, mapValues(value, (items: never[]) => items.map(convert))];
      case 'requests by table':
        return [name, mapValues(value, (asked: object) => withItems(asked, convert))];
      default:
        return [name, value];
    }
  });
  return Object.fromEntries(converted);
}

/** SendMessage. The SDK checks the hash of the message in the response. */
function sent({ MessageBody = '' }: { MessageBody?: string }): object {
  const MD5OfMessageBody = createHash('md5').update(MessageBody).digest('hex');
  return { MessageId: 'message', MD5OfMessageBody, SequenceNumber: '1' };
}

const api = {
  /** @returns the port. */
  listen: (tls: { key: string; cert: string }): Promise<number> => {
    const server = createServer({ ...tls, keepAliveTimeout: 60_000 }, (request, response) => {
      void answer(request, response);
    });
    return listenOnLoopback(server, { port: 0, usedBy: 'the backend' });
  },
  /** @param objects of the repo. */
  reset: (objects: number): Promise<void> => resetTable(table, objects),
};

/** Table, store, queue and secrets in their own process, so that their work isn't measured. */
export type BackendApi = typeof api;

serve(api);
