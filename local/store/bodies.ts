import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Settings } from '../../lambda/domain/settings.ts';
import { notImplemented, S3Error } from './protocol.ts';
import type { Authenticated, StoreRequest } from './signed-request.ts';

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

/**
 * Hands the bytes of a body to `write`, and compares them with all that the request declares of them.
 *
 * @param remainingMs how long the body may take; by default longer than any connection lives.
 * @returns the MD5 in hex, and the SHA-256 in base64 if the client declared it as a checksum.
 * @throws {S3Error}
 */
export async function receiveBody(
  { message, request, authenticated }: Incoming,
  write: (chunk: Buffer) => Promise<void>,
  remainingMs = longestTimer,
): Promise<{ sizeBytes: number; etag: string; checksums: { sha256?: string } }> {
  const { headers } = request;
  if ((headers['content-encoding'] ?? '') !== '') throw notImplemented('a Content-Encoding');
  const sizeBytes = readLength(request);
  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  let receivedBytes = 0;
  for await (const chunk of untilLate(message, remainingMs)) {
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
  const isDeclared = headers[checksumHeader] !== undefined;
  const checksums = isDeclared ? { sha256: sha256Bytes.toString('base64') } : {};
  return { sizeBytes, etag: md5Bytes.toString('hex'), checksums };
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
 * When a PUT by a presigned URL must have ended. It is before its reservation is dead (`deadAtMs` in
 * lambda/domain/reservation.ts), because nobody counts what is stored after that.
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

async function* untilLate(message: IncomingMessage, remainingMs: number): AsyncGenerator<Buffer> {
  // A refused body is drained later. Destroying it here would cut the connection before the response.
  const body = message.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLateError()), Math.max(0, Math.min(remainingMs, longestTimer)));
  });
  late.catch(() => undefined);
  try {
    while (true) {
      const { done, value } = await Promise.race([body.next(), late]);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // It isn't awaited, because it has an effect only when the client sends more.
    body.return?.().catch(() => undefined);
  }
}
