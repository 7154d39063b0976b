import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { NodeSha256 } from '../../lambda/domain/hash.ts';
import { notImplemented, S3Error } from './protocol.ts';

/** Longest key, in bytes of UTF-8. */
export const keyBytesMax = 1024;
const expiresSecondsMax = 604_800;
/** Largest difference between the time of a header-signed request and now. */
const skewMaxMs = 15 * 60_000;
const algorithm = 'AWS4-HMAC-SHA256';
const payloadHeader = 'x-amz-content-sha256';

/** A request as S3 reads it: path-style and decoded. */
export interface StoreRequest {
  readonly method: string;
  /** Escaped as the signature needs it, however the client escaped it. */
  readonly canonicalPath: string;
  /** Empty for a request to the service. */
  readonly bucket: string;
  /** Empty for a request to the bucket. */
  readonly key: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: IncomingHttpHeaders;
}

/** The access key of the store. */
export interface StoreCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** What a request claims about its signature. None of it is verified yet. */
export interface Signature {
  readonly accessKeyId: string;
  readonly region: string;
  readonly signedAtMs: number;
  /** Only for a presigned URL. */
  readonly expiresSeconds: number | undefined;
  /** Lower-case names. */
  readonly signedHeaders: readonly string[];
  /** 64 hex digits. */
  readonly value: string;
}

/** What the signature says. */
export interface Authenticated {
  /** The body's SHA-256 in hex, which the reader of the body must check; undefined if the body isn't signed. */
  readonly bodySha256: string | undefined;
  /** Undefined for a request that is signed in its headers. */
  readonly urlExpiresAtMs: number | undefined;
}

/** @throws {S3Error} InvalidURI, InvalidArgument, KeyTooLongError */
export function readStoreRequest(message: IncomingMessage): StoreRequest {
  const target = message.url ?? '';
  if (!target.startsWith('/')) throw new S3Error('InvalidURI', 'The request target must be a path.');
  const queryAt = target.indexOf('?');
  const path = decode(queryAt < 0 ? target : target.slice(0, queryAt));
  const slashAt = path.indexOf('/', 1);
  const key = slashAt < 0 ? '' : path.slice(slashAt + 1);
  if (Buffer.byteLength(key) > keyBytesMax)
    throw new S3Error('KeyTooLongError', `A key has at most ${keyBytesMax} bytes.`);
  return {
    method: message.method ?? '',
    canonicalPath: path.split('/').map(escapeUri).join('/'),
    bucket: slashAt < 0 ? path.slice(1) : path.slice(1, slashAt),
    key,
    query: readQuery(queryAt < 0 ? '' : target.slice(queryAt + 1)),
    headers: message.headers,
  };
}

function readQuery(text: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const [, encodedName = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair.replaceAll('+', ' ')) ?? [];
    const name = decode(encodedName);
    if (query.has(name)) throw new S3Error('InvalidArgument', `The query has ${name} more than once.`);
    query.set(name, decode(value));
  }
  return query;
}

/** @throws {S3Error} InvalidURI */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new S3Error('InvalidURI', "The request target isn't percent-encoded UTF-8.", { cause });
  }
}

/**
 * Percent-encodes all but `A-Z a-z 0-9 - . _ ~`. The signer of lambda/adapters/s3 has a function of its own, so that
 * the store checks it.
 */
export function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Checks that the request is signed with the store's credentials, that it is in time, and that the signature covers
 * every `x-amz-` header. A request without a signature is refused.
 *
 * @throws {S3Error}
 */
export async function authenticate(
  request: StoreRequest,
  { credentials, nowMs }: { credentials: StoreCredentials; nowMs: number },
): Promise<Authenticated> {
  const signature = readSignature(request);
  const { headers, query } = request;
  if (headers['x-amz-security-token'] !== undefined || query.has('X-Amz-Security-Token'))
    throw new S3Error('InvalidToken', 'This store has no sessions, so no security token is valid.');
  if (signature.accessKeyId !== credentials.accessKeyId)
    throw new S3Error('InvalidAccessKeyId', "The access key doesn't exist in this store.");
  const urlExpiresAtMs = checkTime(signature, nowMs);
  checkSignedHeaders(request, signature);
  const payload = readPayload(request, signature);
  const expected = await computeSignature({ request, signature, payload, credentials });
  if (!timingSafeEqual(Buffer.from(expected, 'hex'), Buffer.from(signature.value, 'hex'))) {
    const text =
      "The signature doesn't match this request: check the key, the method, the path, the query and the signed headers.";
    throw new S3Error('SignatureDoesNotMatch', text);
  }
  return { bodySha256: payload === 'UNSIGNED-PAYLOAD' ? undefined : payload, urlExpiresAtMs };
}

/** Reads Signature Version 4 from the Authorization header or from the query, never from both. @throws {S3Error} */
export function readSignature({ headers, query }: StoreRequest): Signature {
  const { authorization } = headers;
  const isPresigned = [...query.keys()].some((name) => /^x-amz-(algorithm|signature)$/i.test(name));
  if (authorization === undefined && !isPresigned)
    throw new S3Error('AccessDenied', "The request isn't signed.");
  if (authorization !== undefined && isPresigned)
    throw new S3Error('InvalidArgument', 'Only one auth mechanism allowed: the query or the header.');
  if (authorization !== undefined && !authorization.startsWith(`${algorithm} `))
    throw new S3Error('InvalidRequest', `The authorization mechanism isn't supported; use ${algorithm}.`);
  const code = isPresigned ? 'AuthorizationQueryParametersError' : 'AuthorizationHeaderMalformed';
  const need = (isRight: boolean, message: string) => {
    if (!isRight) throw new S3Error(code, message);
  };
  const fields = (authorization ?? '').slice(algorithm.length).split(',');
  const field = (name: string) =>
    (isPresigned
      ? query.get(`X-Amz-${name}`)
      : fields
          .map((text) => text.trim())
          .find((text) => text.startsWith(`${name}=`))
          ?.slice(name.length + 1)) ?? '';
  const [, accessKeyId = '', day, region = ''] =
    /^(.+)\/(\d{8})\/([^/]+)\/s3\/aws4_request$/.exec(field('Credential')) ?? [];
  need(day !== undefined, 'The credential must be KEY/YYYYMMDD/REGION/s3/aws4_request.');
  const date = isPresigned ? field('Date') : String(headers['x-amz-date'] ?? '');
  const iso = date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5');
  const signedAtMs = iso === date ? Number.NaN : Date.parse(iso);
  need(!Number.isNaN(signedAtMs), 'The date must be YYYYMMDDTHHMMSSZ.');
  need(day === date.slice(0, 8), "The day of the credential isn't the day of the request.");
  const signedHeaders = field('SignedHeaders');
  need(/^[a-z0-9-]+(;[a-z0-9-]+)*$/.test(signedHeaders), 'Signed headers are lower-case names, joined by ;.');
  const value = field('Signature');
  need(/^[0-9a-f]{64}$/.test(value), 'The signature must be 64 hex digits.');
  const common = { accessKeyId, region, signedAtMs, signedHeaders: signedHeaders.split(';'), value };
  if (!isPresigned) return { ...common, expiresSeconds: undefined };
  need(field('Algorithm') === algorithm, `X-Amz-Algorithm must be ${algorithm}.`);
  const expires = field('Expires');
  need(
    /^[1-9]\d{0,5}$/.test(expires) && Number(expires) <= expiresSecondsMax,
    `X-Amz-Expires must be 1 to ${expiresSecondsMax} seconds.`,
  );
  return { ...common, expiresSeconds: Number(expires) };
}

/** @returns when a presigned URL expires. */
function checkTime({ signedAtMs, expiresSeconds }: Signature, nowMs: number): number | undefined {
  if (expiresSeconds === undefined) {
    if (Math.abs(nowMs - signedAtMs) > skewMaxMs)
      throw new S3Error('RequestTimeTooSkewed', 'The request was signed more than 15 minutes away from now.');
    return undefined;
  }
  const expiresAtMs = signedAtMs + expiresSeconds * 1000;
  if (signedAtMs - nowMs > skewMaxMs) throw new S3Error('AccessDenied', "Request isn't valid yet");
  if (nowMs > expiresAtMs) throw new S3Error('AccessDenied', 'Request has expired');
  return expiresAtMs;
}

/** Every signed header must be present, and every `x-amz-` header must be signed. */
function checkSignedHeaders({ headers }: StoreRequest, { signedHeaders }: Signature): void {
  if (!signedHeaders.includes('host'))
    throw new S3Error('AccessDenied', 'The Host header must be among the signed headers.');
  const missing = signedHeaders.find((name) => headers[name] === undefined);
  if (missing !== undefined)
    throw new S3Error('SignatureDoesNotMatch', `The signed header ${missing} is missing from the request.`);
  const unsigned = Object.keys(headers).find(
    (name) => name.startsWith('x-amz-') && !signedHeaders.includes(name),
  );
  if (unsigned === undefined) return;
  const text = `There were headers present in the request which weren't signed: ${unsigned}`;
  throw new S3Error('AccessDenied', text);
}

/** What the signature says about the body: its SHA-256 in hex, or UNSIGNED-PAYLOAD. @throws {S3Error} */
function readPayload({ headers, query }: StoreRequest, { expiresSeconds }: Signature): string {
  const header = headers[payloadHeader];
  const isPresigned = expiresSeconds !== undefined;
  const text = isPresigned ? (query.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD') : String(header ?? '');
  if (isPresigned && header !== undefined && header !== text)
    throw new S3Error('InvalidArgument', `${payloadHeader} differs from what the URL was signed for.`);
  if (text === 'UNSIGNED-PAYLOAD' || /^[0-9a-f]{64}$/.test(text)) return text;
  if (text.startsWith('STREAMING-'))
    throw notImplemented(
      'aws-chunked bodies, which AWS clients send unless AWS_REQUEST_CHECKSUM_CALCULATION is when_required',
    );
  throw new S3Error('InvalidArgument', `${payloadHeader} must be a SHA-256 in hex, or UNSIGNED-PAYLOAD.`);
}

/** The signature (hex) of this request when it is signed with these credentials. */
export async function computeSignature(input: {
  request: StoreRequest;
  signature: Signature;
  /** SHA-256 in hex, or UNSIGNED-PAYLOAD. */
  payload: string;
  credentials: StoreCredentials;
}): Promise<string> {
  const { request, signature, payload, credentials } = input;
  const { region, signedAtMs, expiresSeconds } = signature;
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials,
    sha256: NodeSha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const names = new Set(signature.signedHeaders);
  const signed = [...names].map((name) => [name, [request.headers[name] ?? []].flat().join(',')]);
  const toSign = new HttpRequest({
    method: request.method,
    path: request.canonicalPath,
    query: Object.fromEntries([...request.query].filter(([name]) => name !== 'X-Amz-Signature')),
    // The signer reads the payload's declaration from this header, whether or not the header itself is signed.
    headers: { ...Object.fromEntries(signed), [payloadHeader]: payload },
  });
  const unsignableHeaders = new Set(names.has(payloadHeader) ? [] : [payloadHeader]);
  const options = { signingDate: new Date(signedAtMs), signableHeaders: names, unsignableHeaders };
  if (expiresSeconds === undefined) {
    const { headers } = await signer.sign(toSign, options);
    return /Signature=([0-9a-f]{64})$/.exec(headers['authorization'] ?? '')?.[1] ?? '';
  }
  const unhoistableHeaders = new Set([...names, payloadHeader]);
  const { query } = await signer.presign(toSign, {
    ...options,
    expiresIn: expiresSeconds,
    unhoistableHeaders,
  });
  return String(query?.['X-Amz-Signature'] ?? '');
}
