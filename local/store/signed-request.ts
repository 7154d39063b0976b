import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { escapeUriPath, HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import { NodeSha256 } from '../../lambda/core/rules/hash.ts';
import type { Settings } from '../../lambda/core/rules/settings.ts';
import { notImplemented, S3Error } from './protocol.ts';

/** Longest key, in bytes of UTF-8. */
const keyBytesMax = 1024;
const expiresSecondsMax = 604_800;
/** Largest difference between the time of a header-signed request and now. */
const skewMaxMs = 15 * 60_000;
/** What SDKs and lambda/core/store write. */
const authorizationText =
  /^AWS4-HMAC-SHA256 Credential=([^,/]+)\/\d{8}\/([^,/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;
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

export interface StoreCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** What a request claims about its signature. None of it is verified yet. */
interface Signature {
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
interface Authenticated {
  /** The body's SHA-256 in hex, which the reader of the body must check; undefined if the body isn't signed. */
  readonly bodySha256: string | undefined;
  /** Undefined for a request that is signed in its headers. */
  readonly urlExpiresAtMs: number | undefined;
}

/** @throws {S3Error} InvalidURI, KeyTooLongError */
export function readStoreRequest(message: IncomingMessage): StoreRequest {
  const target = message.url ?? '';
  if (!target.startsWith('/')) throw new S3Error('InvalidURI', 'The request target must be a path.');
  const [, encodedPath = '', query] = /^([^?]*)(.*)$/s.exec(target) ?? [];
  const path = decode(encodedPath);
  const slashAt = path.indexOf('/', 1);
  const key = slashAt < 0 ? '' : path.slice(slashAt + 1);
  if (Buffer.byteLength(key) > keyBytesMax)
    throw new S3Error('KeyTooLongError', `A key has at most ${keyBytesMax} bytes.`);
  return {
    method: message.method ?? '',
    canonicalPath: escapeUriPath(path),
    bucket: slashAt < 0 ? path.slice(1) : path.slice(1, slashAt),
    key,
    query: new Map(new URLSearchParams(query)),
    headers: message.headers,
  };
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
 * Checks that the request is signed with the store's credentials, that it is in time, and that the signature covers
 * every `x-amz-` header. A request without a signature is refused.
 *
 * @throws {S3Error}
 */
export async function authenticate(
  request: StoreRequest,
  { credentials, nowMs }: { credentials: StoreCredentials; nowMs: number },
): Promise<Authenticated> {
  const { headers, query } = request;
  const signature = readSignature(request);
  if (signature.accessKeyId !== credentials.accessKeyId)
    throw new S3Error('InvalidAccessKeyId', "The access key doesn't exist in this store.");
  const urlExpiresAtMs = checkTime(signature, nowMs);
  checkSignedHeaders(request, signature);
  const inUrl = query.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD';
  const payload = urlExpiresAtMs === undefined ? String(headers[payloadHeader]) : inUrl;
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
  const isPresigned = query.has('X-Amz-Signature');
  if (headers.authorization === undefined && !isPresigned)
    throw new S3Error('AccessDenied', "The request isn't signed.");
  if (headers.authorization !== undefined && isPresigned)
    throw new S3Error('InvalidArgument', 'Only one auth mechanism allowed: the query or the header.');
  const fields = ['Algorithm', 'Credential', 'SignedHeaders', 'Signature', 'Date', 'Expires'];
  const [algorithm, credential, names, signature, urlDate, expires] = fields.map((field) =>
    query.get(`X-Amz-${field}`),
  );
  const inUrl = `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
  const [, accessKeyId = '', region = '', signedHeaders = '', value] =
    authorizationText.exec(headers.authorization ?? inUrl) ?? [];
  const date = String(isPresigned ? urlDate : headers['x-amz-date']);
  const iso = date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5');
  const signedAtMs = iso === date ? Number.NaN : Date.parse(iso);
  const expiresSeconds = isPresigned ? Number(expires) : undefined;
  const isInTime =
    expiresSeconds === undefined || (expiresSeconds >= 1 && expiresSeconds <= expiresSecondsMax);
  if (value === undefined || Number.isNaN(signedAtMs) || !isInTime) {
    const text = `The signature isn't of AWS4-HMAC-SHA256 for s3, with a date, and for at most ${expiresSecondsMax} s.`;
    throw new S3Error('AuthorizationHeaderMalformed', text);
  }
  return { accessKeyId, region, signedAtMs, expiresSeconds, signedHeaders: signedHeaders.split(';'), value };
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

/** The host and every `x-amz-` header must be signed. A body whose signed length is missing came in chunks. */
function checkSignedHeaders(request: StoreRequest, { signedHeaders }: Signature): void {
  const { headers } = request;
  if (signedHeaders.includes('content-length')) readLength(request);
  const needed = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))];
  const unsigned = needed.find((name) => !signedHeaders.includes(name));
  if (unsigned === undefined) return;
  const text = `There were headers present in the request which weren't signed: ${unsigned}`;
  throw new S3Error('AccessDenied', text);
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
  const signer = new SignatureV4({
    service: 's3',
    region: signature.region,
    credentials,
    sha256: NodeSha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const names = new Set(signature.signedHeaders);
  const signed = [...names].map((name) => [name, [request.headers[name] ?? []].flat().join(',')]);
  // The signer leaves the query's own signature out. It reads the payload's declaration from the header, and adds the date,
  // whether or not the headers themselves are signed.
  const toSign = new HttpRequest({
    method: request.method,
    path: request.canonicalPath,
    query: Object.fromEntries(request.query),
    headers: { ...Object.fromEntries(signed), [payloadHeader]: payload },
  });
  const { headers } = await signer.sign(toSign, {
    signingDate: new Date(signature.signedAtMs),
    signableHeaders: names,
    unsignableHeaders: new Set([payloadHeader, 'x-amz-date']),
  });
  return headers['authorization']?.slice(-signature.value.length) ?? '';
}

/** What a request declares of its body, and the body as it comes. */

/** S3's limit for one PUT, one part and one copy. */
export const uploadBytesMax = 5 * 1024 ** 3;
/** A thousand of the longest keys, each character escaped, or a list of 10,000 parts have less. */
const requestBytesMax = 8 * 1024 * 1024;
/** The longest delay of a timer in ms. A longer one would end at once. */
const longestTimer = 2 ** 31 - 1;

/** The one checksum that is served: of an upload URL. In base64. */
export const checksumHeader = 'x-amz-checksum-sha256';

/** How long a PUT may go on after its URL has expired. */
export type UploadTime = Pick<Settings, 'putGraceMs' | 'putMinBytesPerSecond'>;

/** A request whose signature is right. Its body is still to be read. */
export interface Incoming {
  readonly request: StoreRequest;
  readonly authenticated: Authenticated;
  readonly message: IncomingMessage;
}

/** @throws {S3Error} MissingContentLength, EntityTooLarge */
export function readLength({ headers }: StoreRequest): number {
  const length = headers['content-length'] ?? '';
  if (!/^\d{1,15}$/.test(length))
    throw new S3Error('MissingContentLength', 'You must provide the content-length HTTP header.');
  if (Number(length) <= uploadBytesMax) return Number(length);
  throw new S3Error('EntityTooLarge', `One PUT carries at most ${uploadBytesMax} bytes.`);
}

/** A body that is read. */
export class BodyWait {
  /** Since when nothing comes. Infinite: it isn't waited for. */
  sinceMs = Number.POSITIVE_INFINITY;
  /** Gives up the body, for this reason. */
  end: (reason: Error) => void = () => {};
}

interface BodyLimits {
  /** How long the body may take; by default longer than any connection lives. */
  readonly remainingMs?: number;
  readonly wait?: BodyWait | undefined;
}

/**
 * Hands the bytes of a body to `write`, and compares them with all that the request declares of them.
 *
 * @returns the MD5 in hex, and the SHA-256 in base64: as a checksum, if the client declared it.
 * @throws {S3Error}
 */
export async function receiveBody(
  { message, request, authenticated }: Incoming,
  write: (chunk: Buffer) => Promise<void>,
  limits: BodyLimits = {},
): Promise<{ sizeBytes: number; etag: string; sha256: string; checksums: { sha256?: string } }> {
  const { headers } = request;
  // `identity` says that there is none.
  if (!/^(identity|[ ,])*$/i.test(headers['content-encoding'] ?? ''))
    throw notImplemented('a Content-Encoding');
  const sizeBytes = readLength(request);
  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  let receivedBytes = 0;
  for await (const chunk of untilLate(message, limits)) {
    receivedBytes += chunk.length;
    md5.update(chunk);
    sha256.update(chunk);
    await write(chunk);
  }
  if (receivedBytes !== sizeBytes)
    throw new S3Error('IncompleteBody', `The body has ${receivedBytes} bytes, not ${sizeBytes}.`);
  const [md5Bytes, sha256Bytes] = [md5.digest(), sha256.digest()];
  const checks = [
    ['BadDigest', headers['content-md5'], md5Bytes.toString('base64')],
    ['BadDigest', headers[checksumHeader], sha256Bytes.toString('base64')],
    ['XAmzContentSHA256Mismatch', authenticated.bodySha256, sha256Bytes.toString('hex')],
  ] as const;
  for (const [code, declared, computed] of checks) {
    if (declared === undefined || declared === computed) continue;
    throw new S3Error(code, `The request declares the digest ${declared}, but its body has ${computed}.`);
  }
  const computed = sha256Bytes.toString('base64');
  const checksums = headers[checksumHeader] === undefined ? {} : { sha256: computed };
  return { sizeBytes, etag: md5Bytes.toString('hex'), sha256: computed, checksums };
}

/** A request's XML, after a check of all that is declared of it. @throws {S3Error} */
export async function receiveXml(incoming: Incoming): Promise<string> {
  if (readLength(incoming.request) > requestBytesMax)
    throw new S3Error('MaxMessageLengthExceeded', 'Your request was too big.');
  const chunks: Buffer[] = [];
  await receiveBody(incoming, async (chunk) => void chunks.push(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * When a PUT by a presigned URL must have ended. It is before its reservation has lapsed (`lapsedAtMs` in
 * lambda/core/ledger/rules/reservation.ts), because nobody counts what is stored after that.
 */
export function uploadDeadlineMs(
  { urlExpiresAtMs, sizeBytes }: { urlExpiresAtMs: number; sizeBytes: number },
  { putGraceMs, putMinBytesPerSecond }: UploadTime,
): number {
  return urlExpiresAtMs + putGraceMs + Math.ceil((sizeBytes / putMinBytesPerSecond) * 1000);
}

export function tooLateError(): S3Error {
  return new S3Error('RequestTimeout', "The upload didn't end in time after its URL had expired.");
}

async function* untilLate(
  message: IncomingMessage,
  { remainingMs = longestTimer, wait = new BodyWait() }: BodyLimits,
): AsyncGenerator<Buffer> {
  // A refused body is drained later. Destroying it here would cut the connection before the response.
  const body = message.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLateError()), Math.max(0, Math.min(remainingMs, longestTimer)));
    wait.end = reject;
  });
  late.catch(() => undefined);
  try {
    while (true) {
      wait.sinceMs = performance.now();
      const { done, value } = await Promise.race([body.next(), late]);
      wait.sinceMs = Number.POSITIVE_INFINITY;
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // It isn't awaited, because it has an effect only when the client sends more.
    body.return?.().catch(() => undefined);
  }
}
