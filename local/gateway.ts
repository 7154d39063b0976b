import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { decodePath, type RouteMatch } from '../lambda/frame/api/route-match.ts';
import type { Origin } from './reach.ts';

/** One HTTP request as it was received. */
interface FrontRequest {
  readonly incoming: Pick<IncomingMessage, 'method' | 'url' | 'rawHeaders' | 'httpVersion'>;
  readonly body: Buffer;
  readonly sourceIp: string;
  readonly requestId: string;
  readonly receivedAtMs: number;
  readonly origin: Origin;
}

/**
 * Builds the event of an HTTP API, payload format 2.0. Beyond what AWS documents, it does what API Gateway does: the raw
 * path is decoded, cookies are not among the headers, and a body is base64 unless its type is a text type.
 */
export function toEvent(request: FrontRequest, match: RouteMatch): APIGatewayProxyEventV2 {
  const { path, query } = splitTarget(request.incoming.url);
  const headers = joinHeaders(request.incoming.rawHeaders);
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
    headers: { ...otherHeaders, ...forwardingHeaders(request, headers['x-forwarded-for']) },
    ...(query === '' ? {} : { queryStringParameters: joinQuery(query) }),
    requestContext: requestContext({
      request,
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

/** Path and query of a request target. */
export function splitTarget(target = '/'): { path: string; query: string } {
  const [path = '', ...query] = target.split('?');
  return { path: path === '' ? '/' : path, query: query.join('?') };
}

function requestContext(input: {
  request: FrontRequest;
  rawPath: string;
  routeKey: string;
  userAgent: string;
}): APIGatewayProxyEventV2['requestContext'] {
  const { request } = input;
  return {
    accountId: '000000000000',
    apiId: 'embedded',
    // With the port, which AWS never has here: links that are built from this name must lead to this server.
    domainName: request.origin.host,
    domainPrefix: 'embedded',
    http: {
      method: request.incoming.method ?? 'GET',
      path: input.rawPath,
      protocol: `HTTP/${request.incoming.httpVersion}`,
      sourceIp: request.sourceIp,
      userAgent: input.userAgent,
    },
    requestId: request.requestId,
    routeKey: input.routeKey,
    // What AWS has before its paths, too: links have it.
    stage: request.origin.path.slice(1) || '$default',
    time: commonLogTime(request.receivedAtMs),
    timeEpoch: request.receivedAtMs,
  };
}

function forwardingHeaders({ origin, sourceIp }: FrontRequest, forwarded: string | undefined) {
  const { host, port, protocol } = origin;
  return {
    host,
    'x-forwarded-for': forwarded === undefined ? sourceIp : `${forwarded}, ${sourceIp}`,
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

export interface FrontResponse {
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
export function toResponse(result: unknown): FrontResponse | undefined {
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
export function gatewayResponse(statusCode: number, message: string): FrontResponse {
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
