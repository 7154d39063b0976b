import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type * as z from 'zod';
import { sha256Hex } from '../../core/rules/hash.ts';
import { isOid, isTenantName, repoNamed } from '../../core/rules/names.ts';
import type { RouteContract } from '../contract/contract.ts';
import type { Problem } from '../contract/problems.ts';

/** What handlers need of an API Gateway HTTP API event (payload 2.0), decoded once. */

/**
 * The body as text, or undefined where it is larger than allowed. API Gateway hands over bodies whose type
 * it takes for binary, `application/vnd.git-lfs+json` among them, in base64.
 */
export function bodyText(event: APIGatewayProxyEventV2, maxBytes: number): string | undefined {
  const body = event.body ?? '';
  const bytes = Buffer.from(body, event.isBase64Encoded ? 'base64' : 'utf8');
  return bytes.length > maxBytes ? undefined : bytes.toString('utf8');
}

/** When the request came to API Gateway. */
export function receivedAtMs(event: APIGatewayProxyEventV2): number {
  return event.requestContext.timeEpoch;
}

/** A header by its lower-case name. */
export function header(event: APIGatewayProxyEventV2, name: string): string | undefined {
  return event.headers[name] ?? undefined;
}

/**
 * The event with one `Authorization`. Git sends it twice if two of its settings have it, and gateways join them by a comma.
 *
 * @returns undefined if they differ: nothing says which one counts.
 */
export function withOneLogin(event: APIGatewayProxyEventV2): APIGatewayProxyEventV2 | undefined {
  const sent = header(event, 'authorization')?.split(/,(?=\s*(?:basic|bearer)\s)/i) ?? [];
  const [authorization, ...others] = new Set(sent.map((each) => each.trim()));
  if (authorization === undefined) return event;
  return others.length > 0 ? undefined : { ...event, headers: { ...event.headers, authorization } };
}

/** The token of `Authorization: Bearer TOKEN`, or the password of HTTP Basic, whatever the user name. */
export function credential(event: APIGatewayProxyEventV2): string | undefined {
  const match = /^(basic|bearer) +(\S+) *$/i.exec(header(event, 'authorization') ?? '');
  if (!match?.[1] || !match[2]) return undefined;
  if (match[1].toLowerCase() === 'bearer') return match[2];
  const decoded = Buffer.from(match[2], 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? undefined : decoded.slice(colon + 1) || undefined;
}

/** The tenant of the path, if it is a valid name. */
export function pathTenant(event: APIGatewayProxyEventV2): string | undefined {
  const tenant = event.pathParameters?.['tenant'];
  return tenant !== undefined && isTenantName(tenant) ? tenant : undefined;
}

/** The repo of the path without one trailing `.git`, if it is a valid name. */
export function pathRepo(event: APIGatewayProxyEventV2): string | undefined {
  return repoNamed(event.pathParameters?.['repo'] ?? '');
}

/** The oid of the path, if it is one. */
export function pathOid(event: APIGatewayProxyEventV2): string | undefined {
  const oid = event.pathParameters?.['oid'];
  return oid !== undefined && isOid(oid) ? oid : undefined;
}

/**
 * Where this API is reached from outside, without a slash at its end.
 *
 * @param publicUrl what the stage says, if something stands before the API. Undefined: as the request reached it.
 */
export function baseUrl(event: APIGatewayProxyEventV2, publicUrl?: string): string {
  if (publicUrl !== undefined) return publicUrl;
  const { domainName, stage } = event.requestContext;
  const protocol = header(event, 'x-forwarded-proto') ?? 'https';
  return `${protocol}://${domainName}${stage === '$default' ? '' : `/${stage}`}`;
}

export const lfsMediaType = 'application/vnd.git-lfs+json';

/**
 * True where an Accept header lets a media type pass (RFC 9110, section 12.5.1). Of the ranges that match it
 * the most specific one decides, and excludes it with `q=0`.
 */
export function accepts(event: APIGatewayProxyEventV2, mediaType: string): boolean {
  const accept = header(event, 'accept');
  if (accept === undefined || accept.trim() === '') return true;
  const ranges = accept.split(',').map(parseMediaRange);
  const [type] = mediaType.split('/');
  for (const name of [mediaType, `${type}/*`, '*/*']) {
    const matching = ranges.filter((range) => range.name === name);
    if (matching.length > 0) return matching.some((range) => !range.isExcluded);
  }
  return false;
}

function parseMediaRange(range: string): { name: string; isExcluded: boolean } {
  const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  return { name, isExcluded: parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) };
}

/** True where the body is declared to be of a media type; parameters such as a charset don't matter. */
export function hasContentType(event: APIGatewayProxyEventV2, mediaType: string): boolean {
  return header(event, 'content-type')?.split(';')[0]?.trim().toLowerCase() === mediaType;
}

export type Response = APIGatewayProxyStructuredResultV2;

declare const says: unique symbol;
/** A response of which the compiler knows the status and the body, so that a route can't answer what its contract hasn't. */
export type Saying<Status, Body> = Status extends number
  ? Response & { readonly [says]: readonly [Status, Body] }
  : never;
/** One that says that something is refused. Each route may. */
export type Refusal = Response & { readonly [says]: 'refused' };

/** What a contract says that a request has. */
export type QueryOf<C> = C extends { query: z.ZodType<infer Q> } ? Q : object;
export type BodyOf<C> = C extends { body: { schema: z.ZodType<infer B> } } ? B : undefined;

/** What a contract says that is answered, or a refusal. */
export type Answer<C extends RouteContract> = Refusal | SayingOneOf<C['answers']>;
type SayingOneOf<Answers> = {
  [Status in Extract<keyof Answers, number>]: Saying<
    Status,
    Answers[Status] extends { schema: infer Schema extends z.ZodType } ? z.input<Schema> : undefined
  >;
}[Extract<keyof Answers, number>];

/** An answer with a JSON body. Nothing is cached unless a header says so. */
export function answer(
  statusCode: number,
  contentType: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return {
    statusCode,
    headers: {
      'content-type': contentType,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body: JSON.stringify(body),
  };
}

/** An error of the management API, of whatever code. */
export function problemAnswer(
  { code, title, status }: Pick<Problem, 'code' | 'title' | 'status'>,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const body: Problem = { type: `urn:lfs-quota:problem:${code}`, code, title, status, detail };
  return answer(status, 'application/problem+json', body, headers) as Refusal;
}

/** An answer of the management API. */
export function json<Status extends number, Body>(
  statusCode: Status,
  body: Body,
  headers: Readonly<Record<string, string>> = {},
): Saying<Status, Body> {
  return answer(statusCode, 'application/json', body, headers) as Saying<Status, Body>;
}

export function noContent(): Saying<204, undefined> {
  return { statusCode: 204 } as Saying<204, undefined>;
}

/** For a year, browsers ask this host by TLS alone. `npm start` has none. */
const strictTransport = 'max-age=31536000';

/** @see https://www.rfc-editor.org/rfc/rfc6797 */
export function overTls(event: APIGatewayProxyEventV2, response: Response): Response {
  if (header(event, 'x-forwarded-proto') !== 'https') return response;
  return { ...response, headers: { ...response.headers, 'strict-transport-security': strictTransport } };
}

/**
 * Names the content of an answer, and leaves it out if the client has it: who looks again and again need not be sent the
 * same. It is told apart by its bytes alone, so an answer must not name the time of the request.
 */
export function ifChanged<R extends Response>(event: APIGatewayProxyEventV2, response: R): R {
  const etag = `"${sha256Hex(response.body ?? '').slice(0, 32)}"`;
  const headers = { ...response.headers, etag };
  const known = (header(event, 'if-none-match') ?? '')
    .split(',')
    .map((each) => each.trim().replace(/^W\//, ''));
  if (!known.includes(etag)) return { ...response, headers };
  const { 'content-type': _type, ...kept } = headers as Record<string, string>;
  return { statusCode: 304, headers: kept } as R;
}

/**
 * The header of a verify action that carries its token. Not `Authorization`: a client with `http.<url>.extraheader`, as
 * CI jobs log in, sends its own beside it, and neither could be told from the other (git-lfs/git-lfs#5593).
 */
export const verifyTokenHeader = 'X-Lfs-Verify-Token';

/** The header of an action for a chunked upload that carries its token, for the same reason. */
export const uploadTokenHeader = 'Lfs-Quota-Upload';
