import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of an invocation. */
export type InvocationFate =
  | { readonly kind: 'answer'; readonly payload: unknown }
  /** The function threw, died or took too long. */
  | { readonly kind: 'function error'; readonly message: string }
  /** Lambda itself answers. */
  | {
      readonly kind: 'refusal';
      readonly status: number;
      readonly code: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'text'; readonly body: string }
  | { readonly kind: 'silence' }
  | { readonly kind: 'closed connection' };

export interface FakeInvocation {
  readonly functionName: string;
  readonly event: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Counts the invocations from 0. */
  readonly index: number;
}

/** Lambda's API, as far as functions are invoked and waited for: POST /2015-03-31/functions/NAME/invocations. */
export class FakeLambda {
  readonly invocations: FakeInvocation[] = [];
  readonly #fateOf: (invocation: FakeInvocation) => InvocationFate | Promise<InvocationFate>;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(fateOf: (invocation: FakeInvocation) => InvocationFate | Promise<InvocationFate>) {
    this.#fateOf = fateOf;
  }

  /** @returns its URL. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const [, name] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(request.url ?? '') ?? [];
    if (request.method !== 'POST' || name === undefined) {
      this.#refuse(response, { status: 404, code: 'ResourceNotFoundException' });
      return;
    }
    const event: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const { headers } = request;
    const index = this.invocations.length;
    const invocation = { functionName: decodeURIComponent(name), event, headers, index };
    this.invocations.push(invocation);
    const fate = await this.#fateOf(invocation);
    if (fate.kind === 'refusal') this.#refuse(response, fate);
    else if (fate.kind === 'closed connection') request.socket.destroy();
    else if (fate.kind === 'function error') {
      response.writeHead(200, { 'content-type': 'application/json', 'x-amz-function-error': 'Unhandled' });
      response.end(JSON.stringify({ errorType: 'Error', errorMessage: fate.message }));
    } else if (fate.kind !== 'silence') {
      response.writeHead(200, { 'content-type': 'application/json', 'x-amz-executed-version': '$LATEST' });
      response.end(fate.kind === 'text' ? fate.body : JSON.stringify(fate.payload));
    }
  }

  #refuse(
    response: ServerResponse,
    {
      status,
      code,
      headers = {},
    }: { status: number; code: string; headers?: Readonly<Record<string, string>> },
  ): void {
    response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': code, ...headers });
    response.end(JSON.stringify({ Type: 'User', Message: 'Not now.' }));
  }
}
