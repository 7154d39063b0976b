import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach } from 'vitest';

/** What a server does with one request. */
export type Conduct = (response: ServerResponse) => void;

export const answer =
  (status: number, body: string, headers: Record<string, string> = {}): Conduct =>
  (response) =>
    void response.writeHead(status, { ...ofDynamoDb, ...headers }).end(body);

const ofDynamoDb = { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'R1' };

/** A refusal or failure, as DynamoDB writes it. */
export const failure = (status: number, code: string, message = 'Said.') =>
  answer(status, JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${code}`, message }));

/** The connection is closed before the answer, or within it. */
export const reset: Conduct = (response) => void response.socket?.destroy();
export const resetWithin: Conduct = (response) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('{"Item":{"pk":{"S":"p"}', () => response.socket?.destroy());
};

interface Seen {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server on loopback that behaves as a test says, for each test of the file. */
export function useDynamoDbServer() {
  const requests: Seen[] = [];
  let conducts: readonly Conduct[] = [];
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    requests.push({ headers: request.headers, body: await text(request) });
    conducts[Math.min(requests.length, conducts.length) - 1]?.(response);
  });
  beforeEach(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    requests,
    url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What it does with the next requests in turn, and with all further ones as with the last. */
    behave: (...next: readonly Conduct[]) => {
      requests.length = 0;
      conducts = next;
    },
  };
}
