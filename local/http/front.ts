import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { matchRoute } from '../../lambda/http/route-match.ts';
import type { Clock } from '../../lambda/ports/clock.ts';
import type { Log } from '../../lambda/ports/log.ts';
import { defaultRouteFunction, type HttpFunction, routes } from '../../lambda/routes.ts';
import { lambdaContext } from '../lambda-context.ts';
import { closeServer, limitConnections, listenOnLoopback } from '../system/loopback-server.ts';
import type { Turns } from '../turns.ts';
import { splitTarget, toEvent } from './event.ts';
import { receiveBody } from './request-body.ts';
import { type FrontResponse, gatewayResponse, toResponse } from './response.ts';

/** The functions by name, as their `create(deps)` returns them. Their results are read as API Gateway reads them. */
export type HttpFunctions = Readonly<
  Record<HttpFunction, (event: APIGatewayProxyEventV2, context: Context) => Promise<unknown>>
>;

export interface HttpFrontOptions {
  /** 0: any free port. */
  readonly port: number;
  /** Requests wait for the functions, so that the port can be opened before anything else starts. */
  readonly functions: Promise<HttpFunctions>;
  readonly clock: Clock;
  readonly log: Log;
  readonly turns: Pick<Turns, 'during'>;
  /** Largest body of a request to a route. By default a little more than the functions take. */
  readonly bodyBytesMax?: number;
  /** API Gateway's limit by default: 30 s. */
  readonly integrationTimeoutMs?: number;
}

export interface HttpFront {
  readonly port: number;
  /** Accepts no new requests, and waits at most `graceMs` for the running ones. */
  close(graceMs: number): Promise<void>;
}

/** Longer than the idle time of usual clients, so that none sends a request on a connection that is being closed. */
const keepAliveMs = 75_000;

/**
 * Bodies are held before anybody has shown a credential, so they are small: API Gateway's 10 MiB would let strangers
 * fill the memory. A little more than the functions take, so that they refuse such a body in their own words.
 */
const routeBodyBytesMax = 1024 * 1024 + 64 * 1024;

/** No function reads the body of a request without a route. */
const otherBodyBytesMax = 16 * 1024;

const connectionsMax = 2_048;
const headersMsMax = 10_000;

/** How often it is looked for requests that are late. */
const checkingIntervalMs = 1_000;

/** Serves the route table on loopback, like an HTTP API with Lambda integrations. */
export async function openHttpFront(options: HttpFrontOptions): Promise<HttpFront> {
  let closing = false;
  const server = createServer(
    {
      requestTimeout: 60_000,
      headersTimeout: headersMsMax,
      connectionsCheckingInterval: checkingIntervalMs,
      keepAliveTimeout: keepAliveMs,
    },
    (incoming, outgoing) => {
      void answer(options, port, incoming).then((response) => send(outgoing, response, closing));
    },
  );
  limitConnections(server, connectionsMax);
  const port = await listenOnLoopback(server, { port: options.port, usedBy: 'the API' });
  return {
    port,
    async close(graceMs) {
      closing = true;
      await closeServer(server, graceMs);
    },
  };
}

/** A response that is sent at once; the connection ends after `drained`. */
type Answer = FrontResponse & { readonly drained?: Promise<void> };

/** @returns undefined if the client has gone. */
async function answer(
  options: HttpFrontOptions,
  port: number,
  incoming: IncomingMessage,
): Promise<Answer | undefined> {
  const requestId = randomUUID();
  const target = incoming.url ?? '/';
  const method = incoming.method ?? 'GET';
  try {
    const match = matchRoute(routes, { method, path: splitTarget(target).path });
    const routeBytesMax = options.bodyBytesMax ?? routeBodyBytesMax;
    const bytesMax = match.kind === 'matched' ? routeBytesMax : Math.min(routeBytesMax, otherBodyBytesMax);
    const received = await receiveBody(incoming, bytesMax);
    if (received.kind === 'aborted') return undefined;
    if (received.kind === 'too-large') {
      return { ...gatewayResponse(413, 'Request Entity Too Large'), drained: received.drained };
    }
    if (match.kind === 'malformed') return gatewayResponse(400, 'Bad Request');
    const name = match.kind === 'matched' ? match.route.function : defaultRouteFunction;
    const request = {
      method,
      target,
      requestId,
      port,
      body: received.body,
      rawHeaders: incoming.rawHeaders,
      httpVersion: incoming.httpVersion,
      sourceIp: incoming.socket.remoteAddress ?? '127.0.0.1',
      receivedAtMs: options.clock.nowMs(),
    };
    const event = toEvent(request, match);
    const response = await options.turns.during({ bodyBytes: received.body.length }, () =>
      invoke(options, name, event),
    );
    return { ...response, headers: { ...response.headers, 'apigw-requestid': requestId } };
  } catch (error) {
    options.log.error('request failed', { method, path: splitTarget(target).path, requestId, error });
    return gatewayResponse(500, 'Internal Server Error');
  }
}

/** Calls a function and waits as long as the gateway would. A function that takes longer runs on, and its result is dropped. */
async function invoke(
  options: HttpFrontOptions,
  name: HttpFunction,
  event: APIGatewayProxyEventV2,
): Promise<FrontResponse> {
  const timeLimitMs = options.integrationTimeoutMs ?? 30_000;
  const functions = await options.functions;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), timeLimitMs);
  });
  const context = lambdaContext({ functionName: name, timeLimitMs });
  const result = await Promise.race([functions[name](event, context), timeout]).finally(() =>
    clearTimeout(timer),
  );
  if (result === 'timeout') {
    options.log.error('function took too long', {
      function: name,
      timeLimitMs,
      requestId: event.requestContext.requestId,
    });
    return gatewayResponse(503, 'Service Unavailable');
  }
  const response = toResponse(result);
  if (response !== undefined) return response;
  options.log.error('function answered no valid response', { function: name });
  return gatewayResponse(500, 'Internal Server Error');
}

function send(outgoing: ServerResponse, response: Answer | undefined, closing: boolean): void {
  if (response === undefined || outgoing.destroyed) {
    outgoing.destroy();
    return;
  }
  const ends = closing || response.drained !== undefined;
  const hasLength = response.statusCode !== 204 && response.statusCode !== 304;
  const own = {
    ...(hasLength ? { 'content-length': String(response.body.length) } : {}),
    ...(ends ? { connection: 'close' } : {}),
  };
  try {
    outgoing.writeHead(response.statusCode, { ...response.headers, ...own });
  } catch {
    // HTTP cannot carry a header of the response. Nothing was sent yet.
    outgoing.writeHead(500, { 'content-type': 'application/json', connection: 'close' });
    outgoing.end('{"message":"Internal Server Error"}');
    return;
  }
  if (response.drained === undefined) {
    outgoing.end(response.body);
    return;
  }
  outgoing.write(response.body);
  void response.drained.then(() => outgoing.end());
}
