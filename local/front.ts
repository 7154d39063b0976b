import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { decodePath, matchRoute, type RouteMatch } from '../lambda/api/route-match.ts';
import { defaultRouteFunction, type HttpFunction, routes } from '../lambda/routes.ts';
import type { Clock, Log } from '../lambda/rules/clock-and-log.ts';
import { lambdaContext } from './lambda-context.ts';
import { clientAddress, originOf, type Reach } from './reach.ts';
import { closeServer, limitConnections, listen } from './system/loopback-server.ts';
import type { Turns } from './turns.ts';

/** One HTTP request as it was received. */
interface FrontRequest {
  readonly method: string;
  /** The target of the request line: path and query as they were sent. */
  readonly target: string;
  /** Names and values in turn, as in `IncomingMessage.rawHeaders`. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly httpVersion: string;
  readonly sourceIp: string;
  readonly requestId: string;
  readonly receivedAtMs: number;
  /** Port of the front. */
  readonly port: number;
  readonly reach: Reach;
}

/**
 * Builds the event of an HTTP API, payload format 2.0. Beyond what AWS documents, it does what API Gateway does: the raw
 * path is decoded, cookies are not among the headers, and a body is base64 unless its type is a text type.
 */
function toEvent(request: FrontRequest, match: RouteMatch): APIGatewayProxyEventV2 {
  const { path, query } = splitTarget(request.target);
  const headers = joinHeaders(request.rawHeaders);
  const origin = originOf(request.reach, { host: headers['host'], port: request.port });
  const { cookie, ...otherHeaders } = headers;
  const isBase64Encoded = request.body.length > 0 && !isTextType(headers['content-type']);
  const routeKey = match.kind === 'matched' ? `${match.route.method} ${match.route.path}` : '$default';
  const rawPath = decodePath(path)?.join('/') ?? path;
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString: query,
    ...(cookie === undefined ? {} : { cookies: cookie.split(/; */) }),
    headers: { ...otherHeaders, ...forwardingHeaders(request, origin, headers) },
    ...(query === '' ? {} : { queryStringParameters: joinQuery(query) }),
    requestContext: requestContext({
      request,
      host: origin.host,
      rawPath,
      routeKey,
      userAgent: headers['user-agent'] ?? '',
    }),
    ...(match.kind === 'matched' && Object.keys(match.pathParameters).length > 0
      ? { pathParameters: match.pathParameters }
      : {}),
    ...(request.body.length === 0
      ? {}
      : { body: request.body.toString(isBase64Encoded ? 'base64' : 'utf8') }),
    isBase64Encoded,
  };
}

/** Path and query of a request target. Scheme and host of an absolute target are dropped. */
function splitTarget(target: string): { path: string; query: string } {
  const origin = /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? '';
  const rest = target.slice(origin.length);
  const mark = rest.indexOf('?');
  const path = mark === -1 ? rest : rest.slice(0, mark);
  return { path: path === '' ? '/' : path, query: mark === -1 ? '' : rest.slice(mark + 1) };
}

function requestContext(input: {
  request: FrontRequest;
  host: string;
  rawPath: string;
  routeKey: string;
  userAgent: string;
}): APIGatewayProxyEventV2['requestContext'] {
  const { request, host } = input;
  return {
    accountId: '000000000000',
    apiId: 'embedded',
    // With the port, which AWS never has here: links that are built from this name must lead to this server.
    domainName: host,
    domainPrefix: 'embedded',
    http: {
      method: request.method,
      path: input.rawPath,
      protocol: `HTTP/${request.httpVersion}`,
      sourceIp: request.sourceIp,
      userAgent: input.userAgent,
    },
    requestId: request.requestId,
    routeKey: input.routeKey,
    stage: '$default',
    time: commonLogTime(request.receivedAtMs),
    timeEpoch: request.receivedAtMs,
  };
}

function forwardingHeaders(
  request: FrontRequest,
  { host, port, protocol }: ReturnType<typeof originOf>,
  headers: Readonly<Record<string, string>>,
) {
  const forwarded = headers['x-forwarded-for'];
  return {
    host,
    'x-forwarded-for': forwarded === undefined ? request.sourceIp : `${forwarded}, ${request.sourceIp}`,
    'x-forwarded-port': port,
    'x-forwarded-proto': protocol,
  };
}

/** Headers by lower-case name. Repeated headers are joined by commas. */
function joinHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = rawHeaders[index + 1] ?? '';
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ','}${value}`;
  }
  return headers;
}

function joinQuery(query: string): Record<string, string> {
  const parameters: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(query)) {
    const before = parameters[name];
    parameters[name] = before === undefined ? value : `${before},${value}`;
  }
  return parameters;
}

/** Whether API Gateway passes on a body of this type as text. A body without a type is binary. */
function isTextType(contentType: string | undefined): boolean {
  const mediaType = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return mediaType.startsWith('text/') || /^application\/(json|xml|javascript)$/.test(mediaType);
}

/** `21/Nov/2026:05:00:00 +0000` */
function commonLogTime(timeMs: number): string {
  const [, weekday, day, month, year, time] =
    /^(\w+), (\d+) (\w+) (\d+) ([\d:]+)/.exec(new Date(timeMs).toUTCString()) ?? [];
  return weekday === undefined ? '' : `${day}/${month}/${year}:${time} +0000`;
}

type ReceivedBody =
  | { readonly kind: 'whole'; readonly body: Buffer }
  /** The rest of the body is read and dropped until `drained` resolves. Answer now, and close the connection then. */
  | { readonly kind: 'too-large'; readonly drained: Promise<void> }
  /** The client has gone, or was too slow. */
  | { readonly kind: 'aborted' };

/** How long the rest of a body that is too large is read. Without that, the client sees a reset, not the 413. */
const drainMs = 2000;

/** Reads a request's body of at most `bytesMax`. Keeps nothing of a larger one, and resolves before it has ended. */
function receiveBody(request: IncomingMessage, bytesMax: number): Promise<ReceivedBody> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
    return Promise.resolve({ kind: 'too-large', drained: drain(request) });
  }
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    const onData = (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      request.off('data', onData);
      resolve({ kind: 'too-large', drained: drain(request) });
    };
    const late = setTimeout(() => resolve({ kind: 'aborted' }), bodyMsMax);
    request.on('data', onData);
    request.on('end', () => resolve({ kind: 'whole', body: Buffer.concat(chunks) }));
    request.on('error', () => resolve({ kind: 'aborted' }));
    request.on('close', () => {
      clearTimeout(late);
      resolve({ kind: 'aborted' });
    });
  });
}

function drain(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, drainMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    for (const event of ['end', 'close', 'error']) request.once(event, done);
    request.resume();
  });
}

/** The response that is sent. */
interface FrontResponse {
  readonly statusCode: number;
  /** A list for a header that is sent several times. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
}

/** Headers of the connection, which the front sets itself. */
const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** API Gateway's type for a body without one. */
const defaultType = 'text/plain;charset=UTF-8';

/**
 * Reads a function's result as an HTTP API does: with a `statusCode` it is the response, anything else is the JSON body
 * of a 200.
 *
 * @returns undefined if HTTP cannot carry the result; the caller then answers 500.
 */
function toResponse(result: unknown): FrontResponse | undefined {
  if (typeof result !== 'object' || result === null || !('statusCode' in result)) return inferred(result);
  const { statusCode } = result;
  if (typeof statusCode !== 'number' || !Number.isInteger(statusCode)) return undefined;
  if (statusCode < 200 || statusCode > 599) return undefined;
  const bodyText = 'body' in result && typeof result.body === 'string' ? result.body : '';
  const isBase64Encoded = 'isBase64Encoded' in result && result.isBase64Encoded === true;
  const carriesBody = statusCode !== 204 && statusCode !== 304;
  const headers: Record<string, string | string[]> = carriesBody ? { 'content-type': defaultType } : {};
  for (const [name, value] of Object.entries(('headers' in result ? result.headers : undefined) ?? {})) {
    const lowerName = name.toLowerCase();
    if (!connectionHeaders.has(lowerName)) headers[lowerName] = String(value);
  }
  if ('cookies' in result && Array.isArray(result.cookies))
    headers['set-cookie'] = result.cookies.map(String);
  const body = Buffer.from(carriesBody ? bodyText : '', isBase64Encoded ? 'base64' : 'utf8');
  return { statusCode, headers, body };
}

/** A response of the gateway itself: `{"message": …}`. */
function gatewayResponse(statusCode: number, message: string): FrontResponse {
  return {
    statusCode,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ message })),
  };
}

function inferred(result: unknown): FrontResponse {
  const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) };
}

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
/** From the headers of a request to the end of its body. An upload to the store has a deadline of its own. */
const bodyMsMax = 60_000;
/** A connection without any traffic for this long is cut. No function answers this late. */
const idleMsMax = 60_000;

/** How often it is looked for requests that are late. */
const checkingIntervalMs = 1_000;

/** Serves the route table on loopback, like an HTTP API with Lambda integrations. */
export async function openHttpFront(options: HttpFrontOptions): Promise<HttpFront> {
  let closing = false;
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: headersMsMax,
    connectionsCheckingInterval: checkingIntervalMs,
    keepAliveTimeout: keepAliveMs,
  });
  server.timeout = idleMsMax;
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (isOfStore(options, incoming)) return serveObject(options, port, { incoming, outgoing, closing });
    void answer(options, port, incoming).then((response) => send(outgoing, response, closing));
  };
  server.on('request', serve);
  server.on('checkContinue', (incoming, outgoing) => {
    outgoing.writeContinue();
    serve(incoming, outgoing);
  });
  limitConnections(server, connectionsMax);
  const port = await listen(server, { host: options.host, port: options.port, usedBy: 'the API' });
  return {
    port,
    async close(graceMs) {
      closing = true;
      await closeServer(server, graceMs);
    },
  };
}

function isOfStore({ objects }: HttpFrontOptions, { url = '' }: IncomingMessage): boolean {
  return objects?.serve !== undefined && url.startsWith(`/${objects.bucket}/`);
}

/**
 * Passes a request by a presigned URL on to the store, as the URL was signed: whatever a proxy made of `Host`. Git may add
 * the credentials of this server, since the URL has its name.
 */
function serveObject(
  { objects, reach = {} }: HttpFrontOptions,
  port: number,
  { incoming, outgoing, closing }: { incoming: IncomingMessage; outgoing: ServerResponse; closing: boolean },
): void {
  const { authorization: _ofGit, host, ...headers } = incoming.headers;
  incoming.headers = { ...headers, host: originOf(reach, { host, port }).host };
  if (closing) outgoing.setHeader('connection', 'close');
  objects?.serve?.(incoming, outgoing);
}

/** A response that is sent at once; the connection ends after `drained`. */
type Answer = FrontResponse & { readonly drained?: Promise<void> };

/** @returns undefined if the client has gone. */
async function answer(
  options: HttpFrontOptions,
  port: number,
  incoming: IncomingMessage,
): Promise<Answer | undefined> {
  const { reach = {} } = options;
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
      reach,
      body: received.body,
      rawHeaders: incoming.rawHeaders,
      httpVersion: incoming.httpVersion,
      sourceIp: clientAddress(reach, {
        remote: incoming.socket.remoteAddress ?? '127.0.0.1',
        forwarded: incoming.headersDistinct['x-forwarded-for']?.join(','),
      }),
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
