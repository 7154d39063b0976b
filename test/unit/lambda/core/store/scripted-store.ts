import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen } from '../../../../support/serve.ts';

interface ScriptedRequest {
  readonly method: string;
  /** Path and query, escaped. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What the store does with a request. The last one is for all that follow. */
export type Conduct = (response: ServerResponse, request: ScriptedRequest) => void;

/** A store that answers one request after the other as a test says. */
export class ScriptedStore {
  readonly requests: ScriptedRequest[] = [];
  readonly connections = new Set<Socket>();
  readonly #script: readonly Conduct[];
  readonly #server = createServer({ keepAliveTimeout: 60_000 }, async (message, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk);
    const { method = '', url = '', headers } = message;
    const request = { method, url, headers, body: Buffer.concat(chunks) };
    const conduct = this.#script[Math.min(this.requests.length, this.#script.length - 1)];
    this.requests.push(request);
    conduct?.(response, request);
  });

  constructor(script: readonly Conduct[]) {
    this.#script = script;
    this.#server.on('connection', (socket) => this.connections.add(socket));
  }

  /** Until the test is over. @returns its URL. */
  async listen(): Promise<string> {
    return `http://127.0.0.1:${await listen(this.#server)}`;
  }

  get openConnections(): number {
    return [...this.connections].filter(({ destroyed }) => !destroyed).length;
  }
}

export function answer(
  status: number,
  body: string | Buffer = '',
  headers: Readonly<Record<string, string>> = {},
): Conduct {
  return (response) => {
    response.writeHead(status, { 'content-length': String(Buffer.byteLength(body)), ...headers });
    response.end(body);
  };
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>';

export const xml = (root: string, inner: string, status = 200) =>
  answer(status, `${declaration}<${root}>${inner}</${root}>`, { 'content-type': 'application/xml' });

export const errorXml = (status: number, code: string) =>
  xml('Error', `<Code>${code}</Code><Message>Because.</Message>`, status);

/** The head, some of the body, and then a closed connection. */
export const cutOff = (
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Conduct => {
  return (response) => {
    response.writeHead(status, { 'content-length': String(body.length + 100), ...headers });
    response.write(body, () => response.socket?.destroy());
  };
};

export const silence: Conduct = () => {};

/** A head, and then a space again and again, without an end. */
export const drip: Conduct = (response) => {
  response.writeHead(200, { 'content-type': 'application/xml' });
  const timer = setInterval(() => response.write(' '), 10);
  response.on('close', () => clearInterval(timer));
};
