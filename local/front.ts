import type { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import type { Clock, Log } from '../lambda/core/rules/clock-and-log.ts';
import { networkOf } from '../lambda/core/rules/network.ts';
import { matchRoute } from '../lambda/frame/api/route-match.ts';
import { defaultRouteFunction, type HttpFunction, routes } from '../lambda/routes.ts';
import { Bodies, drain } from './bodies.ts';
import { type FrontResponse, gatewayResponse, splitTarget, toEvent, toResponse } from './gateway.ts';
import { lambdaContext } from './lambda-context.ts';
import type { RequestLimits } from './limits.ts';
import {
  arrivedHeader,
  arrivedText,
  below,
  clientAddress,
  type Origin,
  originOf,
  pageHeaders,
  type Reach,
} from './reach.ts';
import type { ConnectionLimits } from './system/connections.ts';
import { closeServer, createBoundedServer, listen } from './system/loopback-server.ts';
import type { Turns } from './turns.ts';

/** The functions by name, as their `create(deps)` returns them. Their results are read as API Gateway reads them. */
export type HttpFunctions = Readonly<
  Record<HttpFunction, (event: APIGatewayProxyEventV2, context: Context) => Promise<unknown>>
>;

export interface HttpFrontOptions {
  /** 0: any free port. */
  readonly port: number;
  /** The address to listen on. Default: this machine's loopback. */
  readonly host?: string;
  /** Default: only this machine reaches it. */
  readonly reach?: Reach;
  /** Requests wait for the functions, so that the port can be opened before anything else starts. */
  readonly functions: Promise<HttpFunctions>;
  readonly clock: Clock;
  readonly log: Log;
  readonly turns: Pick<Turns, 'during'>;
  /** The store that is reached here, too: what is below `/{bucket}/`, by presigned URLs alone. Default: none. */
  readonly objects?: {
    readonly bucket: string;
    readonly serve?: (message: IncomingMessage, response: ServerResponse) => void;
  };
  /** By which URL the request came that a function works for. */
  readonly asked?: Pick<AsyncLocalStorage<Origin>, 'run'>;
  /** Default: no limit. */
  readonly limits?: Pick<RequestLimits, 'retryAfterSeconds' | 'enter'> | undefined;
  readonly connections?: ConnectionLimits | undefined;
  /** Told of each request when it has ended. */
  readonly onAnswered?: ((request: AnsweredRequest) => void) | undefined;
  /** Largest body of a request to a route. By default a little more than the functions take. */
  readonly bodyBytesMax?: number;
  /** API Gateway's limit by default: 30 s. */
  readonly integrationTimeoutMs?: number;
}

/** As the access log of the deployed API has it: no query and no headers, which carry signatures and tokens. */
export interface AnsweredRequest extends Served {
  readonly sourceIp: string;
  readonly method: string;
  readonly path: string;
  /** 499 if the client has gone before. */
  readonly status: number;
  readonly latencyMs: number;
}

/** Who serves a request: a function, the store, or `limits` if there are too many. */
interface Served {
  readonly requestId: string;
  function: HttpFunction | 'objects' | 'limits';
}

export interface HttpFront {
  readonly port: number;
  /** Ends each connection with its next response: clients open another one, which a proxy leads elsewhere. */
  drain(): void;
  /** Accepts no new requests, and waits at most `graceMs` for the running ones. */
  close(graceMs: number): Promise<void>;
}

/**
 * Bodies are held before anybody has shown a credential, so they are small: API Gateway's 10 MiB would let strangers
 * fill the memory. A little more than the functions take, so that they refuse such a body in their own words.
 */
const routeBodyBytesMax = 1024 * 1024 + 64 * 1024;

/** No function reads the body of a request without a route. */
const otherBodyBytesMax = 16 * 1024;

/** Serves the route table on loopback, like an HTTP API with Lambda integrations. */
export async function openHttpFront(options: HttpFrontOptions): Promise<HttpFront> {
  let closing = false;
  const bodies = new Bodies();
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { url: target, headers } = incoming;
    const origin = originOf(options.reach ?? {}, { host: headers.host, port, target });
    incoming.url = below(origin.path, target) ?? target;
    const sourceIp = clientOf(options, incoming);
    const ofStore = isOfStore(options, incoming);
    const served: Served = { requestId: randomUUID(), function: 'limits' };
    tellOfEnd(options, { incoming, outgoing, served, sourceIp });
    const forPages = ofStore ? {} : pageHeaders(options.reach ?? {}, incoming);
    for (const [name, value] of Object.entries(forPages)) outgoing.setHeader(name, value);
    const leave = options.limits?.enter(sourceIp, ofStore ? 'objects' : 'api');
    if (options.limits && !leave) return send(outgoing, tooMany(1, incoming), closing);
    if (leave) outgoing.once('close', leave);
    if (ofStore) {
      served.function = 'objects';
      return serveObject(options, port, { incoming, outgoing, closing });
    }
    if (outgoing.hasHeader('access-control-allow-methods')) {
      served.function = defaultRouteFunction;
      return send(outgoing, { statusCode: 204, headers: {}, body: Buffer.alloc(0) }, closing);
    }
    const request = { incoming, origin, served, sourceIp, bodies };
    void answer(options, port, request).then((response) => send(outgoing, response, closing));
  };
  // A site has 48 bits of IPv6, and as many clients in them as it likes.
  const siteOf = (message: IncomingMessage) => networkOf(clientOf(options, message), 3);
  const server = createBoundedServer(serve, { ...options.connections, clientOf: siteOf });
  const port = await listen(server, { host: options.host, port: options.port, usedBy: '--listen' });
  return {
    port,
    drain() {
      closing = true;
    },
    async close(graceMs) {
      closing = true;
      await closeServer(server, graceMs);
    },
  };
}

function tellOfEnd(
  { onAnswered }: HttpFrontOptions,
  request: { incoming: IncomingMessage; outgoing: ServerResponse; served: Served; sourceIp: string },
): void {
  if (!onAnswered) return;
  const { incoming, outgoing, served, sourceIp } = request;
  const { method = 'GET', url = '/' } = incoming;
  const startMs = performance.now();
  outgoing.once('close', () => {
    const status = outgoing.headersSent ? outgoing.statusCode : 499;
    const latencyMs = Math.round((performance.now() - startMs) * 10) / 10;
    onAnswered({ ...served, sourceIp, method, path: splitTarget(url).path, status, latencyMs });
  });
}

/** Of some releases of Node, `headersDistinct` throws for a header that is called `constructor`. */
const clientOf = ({ reach = {} }: HttpFrontOptions, { socket, headers }: IncomingMessage) =>
  clientAddress(reach, {
    remote: socket.remoteAddress ?? '127.0.0.1',
    forwarded: headers['x-forwarded-for']?.toString(),
  });

function isOfStore({ objects }: HttpFrontOptions, { url = '' }: IncomingMessage): boolean {
  return objects?.serve !== undefined && url.startsWith(`/${objects.bucket}/`);
}

/**
 * Passes a request by a presigned URL on to the store, as the URL was signed: for the first name, whichever it came by, and
 * whatever a proxy made of `Host`. Git may add the credentials of this server, since the URL has its name.
 */
function serveObject(
  { objects, reach = {} }: HttpFrontOptions,
  port: number,
  { incoming, outgoing, closing }: { incoming: IncomingMessage; outgoing: ServerResponse; closing: boolean },
): void {
  const { authorization: _ofGit, ...headers } = incoming.headers;
  incoming.headers = { ...headers, host: originOf(reach, { host: undefined, port }).host };
  if (closing) outgoing.setHeader('connection', 'close');
  objects?.serve?.(incoming, outgoing);
}

function tooMany(seconds: number, incoming: IncomingMessage): Answer {
  const { headers, ...response } = gatewayResponse(429, 'Too Many Requests');
  return { ...response, headers: { ...headers, 'retry-after': String(seconds) }, drained: drain(incoming) };
}

/** A response that is sent at once; the connection ends after `drained`. */
type Answer = FrontResponse & { readonly drained?: Promise<void> };

/** @returns undefined if the client has gone. */
async function answer(
  options: HttpFrontOptions,
  port: number,
  {
    incoming,
    origin,
    served,
    sourceIp,
    bodies,
  }: { incoming: IncomingMessage; origin: Origin; served: Served; sourceIp: string; bodies: Bodies },
): Promise<Answer | undefined> {
  const { reach = {} } = options;
  const { requestId } = served;
  const { method = 'GET' } = incoming;
  const { path } = splitTarget(incoming.url);
  const { authorization, cookie } = incoming.headers;
  const credential = authorization ?? cookie;
  // It touches nothing, and proxies ask it before they pass on a request.
  const isHealth = path === '/health';
  const retryAfter = !isHealth && options.limits?.retryAfterSeconds({ address: sourceIp, credential });
  if (retryAfter) return tooMany(retryAfter, incoming);
  try {
    const match = matchRoute(routes, { method, path });
    const name = match.kind === 'matched' ? match.route.function : defaultRouteFunction;
    served.function = name;
    const routeBytesMax = options.bodyBytesMax ?? routeBodyBytesMax;
    const bytesMax = match.kind === 'matched' ? routeBytesMax : Math.min(routeBytesMax, otherBodyBytesMax);
    const received = await bodies.receive(incoming, bytesMax);
    if (received.kind === 'aborted') return undefined;
    if (received.kind === 'too-large') {
      return { ...gatewayResponse(413, 'Request Entity Too Large'), drained: received.drained };
    }
    if (match.kind === 'malformed') return gatewayResponse(400, 'Bad Request');
    const request = {
      incoming,
      requestId,
      origin,
      body: received.body,
      sourceIp,
      receivedAtMs: options.clock.nowMs(),
    };
    const event = toEvent(request, match);
    const run = () => invoke(options, name, event);
    const response = await options.turns.during({ bodyBytes: received.body.length }, () =>
      options.asked ? options.asked.run(origin, run) : run(),
    );
    const arrived = isHealth ? arrivedText(reach, port, incoming) : undefined;
    const own = { 'apigw-requestid': requestId, ...(arrived !== undefined && { [arrivedHeader]: arrived }) };
    return { ...response, headers: { ...response.headers, ...own } };
  } catch (error) {
    options.log.error('request failed', { method, path, requestId, error });
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
