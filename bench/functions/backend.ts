import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { AwsServiceError } from '../../lambda/rules/errors.ts';
import { listen } from '../../local/system/loopback-server.ts';
import { ListServer } from '../list-server/server.ts';
import { serve } from '../serve.ts';
import { seededTable } from './seed.ts';

/** Time to the first byte of each service. The table's own work comes on top. */
const latenciesMs = { table: 5, queue: 8, secret: 20, head: 20, list: 100 } as const;

/** By their ARN. */
let secrets: Readonly<Record<string, string>> = {};
let table = await seededTable(0);
const list = new ListServer();
list.latencyMs = () => latenciesMs.list;

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
    const { MessageBody = '' } = (await json(request)) as { MessageBody?: string };
    await sleep(latenciesMs.queue);
    // The SDK checks the hash of the message in the answer.
    const MD5OfMessageBody = createHash('md5').update(MessageBody).digest('hex');
    answerJson(response, { MessageId: 'message', MD5OfMessageBody, SequenceNumber: '1' });
  } else if (service === 'secretsmanager') {
    const { SecretId = '' } = (await json(request)) as { SecretId?: string };
    await sleep(latenciesMs.secret);
    answerJson(response, { Name: SecretId, SecretString: secrets[SecretId] });
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
    const output = await table.send(operation as 'GetItem', plain(await json(request)) as never);
    answerJson(response, marshalled(output));
  } catch (error) {
    if (!(error instanceof AwsServiceError)) throw error;
    const { code, message, status } = error;
    answerJson(response, { __type: `dynamodb#${code}`, message }, status ?? 400);
  }
}

/** An input with values instead of DynamoDB's, which are objects with one member that names the type. */
function plain(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input;
  if (Array.isArray(input)) return input.map(plain);
  const members = Object.entries(input);
  if (members.length === 1 && /^([BNS]S?|BOOL|NULL|[LM])$/.test(members[0]?.[0] ?? ''))
    return unmarshall({ value: input as never })['value'];
  return Object.fromEntries(members.map(([name, value]) => [name, plain(value)]));
}

/** An output with DynamoDB's values in its items. */
function marshalled(output: object): object {
  const convert = ([name, value]: [string, unknown]): [string, unknown] => {
    if (Array.isArray(value)) return [name, value.map((item) => marshall(item))];
    if (['Item', 'Attributes', 'LastEvaluatedKey'].includes(name) && value) return [name, marshall(value)];
    if (name === 'Responses') return [name, marshalled(value as object)];
    return [name, value];
  };
  return Object.fromEntries(Object.entries(output).map(convert));
}

const api = {
  /** @returns the port. */
  listen: (tls: { key: string; cert: string }, kept: typeof secrets): Promise<number> => {
    secrets = kept;
    const server = createServer({ ...tls, keepAliveTimeout: 60_000 }, (request, response) => {
      void answer(request, response);
    });
    return listen(server, { port: 0, usedBy: 'the backend' });
  },
  /** The state before any call. @param objects of the repo, counted so long ago. */
  reset: async (objects: number, ageMs: number): Promise<void> => {
    table = await seededTable(objects, { ageMs });
  },
};

/** Table, store, queue and secrets in their own process, so that their work isn't measured. */
export type BackendApi = typeof api;

serve(api);
