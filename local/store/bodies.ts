import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import type { Settings } from '../../lambda/domain/settings.ts';
import { notImplemented, S3Error } from './protocol.ts';
import type { StoreRequest } from './signed-request.ts';

/** What a request declares of its body, and the body as it comes. */

/** S3's limit for one PUT, one part and one copy. */
export const uploadBytesMax = 5 * 1024 ** 3;
const contentTypeCharsMax = 1024;
/** A thousand of the longest keys, each character escaped, or a list of 10,000 parts have less. */
const requestBytesMax = 8 * 1024 * 1024;
/** The longest delay of a timer in ms. A longer one would end at once. */
const longestTimer = 2 ** 31 - 1;

/** The checksums that the store computes. A request with another one is refused. */
const checksumNames = ['crc32', 'sha256'] as const;

export type ChecksumName = (typeof checksumNames)[number];

/** Base64 by name. */
export type Checksums = Readonly<Partial<Record<ChecksumName, string>>>;

const headerPrefix = 'x-amz-checksum-';

/** The headers beginning with `x-amz-` that declare something of a body. */
export const bodyHeaders = [
  ...checksumNames.map((name) => headerPrefix + name),
  'x-amz-sdk-checksum-algorithm',
];

/** How long a PUT may go on after its URL has expired. */
export type UploadTime = Pick<Settings, 'putGraceMs' | 'putMinBytesPerSecond'>;

export function checksumHeaders(checksums: Checksums): Record<string, string> {
  return Object.fromEntries(Object.entries(checksums).map(([name, value]) => [headerPrefix + name, value]));
}

/** Hashes of a body while it is received: MD5 for the ETag, and the given checksums. */
export class BodyDigest {
  readonly #md5: ReturnType<typeof createHash> | undefined;
  readonly #sha256: ReturnType<typeof createHash> | undefined;
  readonly #withCrc32: boolean;
  #crc32 = 0;

  /** @param options.withMd5 false: the ETag stays empty. It takes longer than all the rest. */
  constructor(names: readonly string[], { withMd5 = true }: { withMd5?: boolean } = {}) {
    this.#md5 = withMd5 ? createHash('md5') : undefined;
    this.#sha256 = names.includes('sha256') ? createHash('sha256') : undefined;
    this.#withCrc32 = names.includes('crc32');
  }

  update(chunk: Buffer): void {
    this.#md5?.update(chunk);
    this.#sha256?.update(chunk);
    if (this.#withCrc32) this.#crc32 = crc32(chunk, this.#crc32);
  }

  /** Ends the hashing. May be called once. */
  finish(): { etag: string; checksums: Checksums } {
    const sha256 = this.#sha256?.digest('base64');
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(this.#crc32);
    const checksums = {
      ...(sha256 !== undefined && { sha256 }),
      ...(this.#withCrc32 && { crc32: bytes.toString('base64') }),
    };
    return { etag: this.#md5?.digest('hex') ?? '', checksums };
  }
}

export function readContentType({ headers }: StoreRequest): string {
  return (headers['content-type'] ?? 'binary/octet-stream').slice(0, contentTypeCharsMax);
}

/** @throws {S3Error} MissingContentLength, EntityTooLarge */
export function readLength({ headers }: StoreRequest): number {
  const length = headers['content-length'] ?? '';
  if (!/^\d{1,15}$/.test(length))
    throw new S3Error('MissingContentLength', 'You must provide the content-length HTTP header.');
  if (Number(length) <= uploadBytesMax) return Number(length);
  throw new S3Error('EntityTooLarge', `One PUT carries at most ${uploadBytesMax} bytes.`);
}

/** A digest of the body that a request declares: its name, the base64, and the error if the body has another. */
type Declared = readonly [name: ChecksumName | 'md5', base64: string, code: string];

/** @throws {S3Error} InvalidDigest, NotImplemented */
function readDeclared({ headers }: StoreRequest, bodySha256: string | undefined): Declared[] {
  if ((headers['content-encoding'] ?? '') !== '') throw notImplemented('a Content-Encoding');
  const declared: Declared[] = checksumNames.map((name) => [
    name,
    String(headers[headerPrefix + name] ?? ''),
    'BadDigest',
  ]);
  declared.push(['md5', String(headers['content-md5'] ?? ''), 'BadDigest']);
  const lengths = { crc32: 4, sha256: 32, md5: 16 };
  for (const [name, base64] of declared) {
    const bytes = Buffer.from(base64, 'base64');
    if (base64 !== '' && (bytes.length !== lengths[name] || bytes.toString('base64') !== base64))
      throw new S3Error('InvalidDigest', `The ${name} that the request declares isn't valid.`);
  }
  const signed = Buffer.from(bodySha256 ?? '', 'hex').toString('base64');
  return [...declared, ['sha256', signed, 'XAmzContentSHA256Mismatch'] as const].filter(
    ([, value]) => value !== '',
  );
}

/**
 * Hands the bytes of a body to `write`, and compares them with all that the request declares of them.
 *
 * @param input.bodySha256 what the signature says, in hex.
 * @param input.computed checksums that the result has though the request may not declare them.
 * @param input.remainingMs how long the body may take; as long as its connection lives if undefined.
 * @returns the ETag, and the checksums that the client declared or that were asked for.
 * @throws {S3Error}
 */
export async function receiveBody(input: {
  message: IncomingMessage;
  request: StoreRequest;
  bodySha256: string | undefined;
  write: (chunk: Buffer) => Promise<void>;
  computed?: readonly ChecksumName[];
  remainingMs?: number;
}): Promise<{ sizeBytes: number; etag: string; checksums: Checksums }> {
  const { message, request, write, computed = [], remainingMs = Number.POSITIVE_INFINITY } = input;
  const sizeBytes = readLength(request);
  const declared = readDeclared(request, input.bodySha256);
  const digest = new BodyDigest([...declared.map(([name]) => name), ...computed]);
  // A refused body is drained later. Destroying it here would cut the connection before the response.
  const body = message.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  let receivedBytes = 0;
  for await (const chunk of remainingMs === Number.POSITIVE_INFINITY ? body : untilLate(body, remainingMs)) {
    receivedBytes += chunk.length;
    digest.update(chunk);
    await write(chunk);
  }
  if (receivedBytes !== sizeBytes)
    throw new S3Error('IncompleteBody', `The body has ${receivedBytes} bytes, not ${sizeBytes}.`);
  const { etag, checksums } = digest.finish();
  const found = { ...checksums, md5: Buffer.from(etag, 'hex').toString('base64') };
  for (const [name, base64, code] of declared) {
    if (found[name] === base64) continue;
    throw new S3Error(code, `The ${name} that the request declares doesn't match what was computed.`);
  }
  const isKept = (name: string) =>
    computed.includes(name as ChecksumName) || request.headers[headerPrefix + name] !== undefined;
  const kept = Object.entries(checksums).filter(([name]) => isKept(name));
  return { sizeBytes, etag, checksums: Object.fromEntries(kept) };
}

/** A request's XML, after a check of all that is declared of it. @throws {S3Error} */
export async function receiveXml(
  message: IncomingMessage,
  request: StoreRequest,
  bodySha256: string | undefined,
): Promise<string> {
  if (readLength(request) > requestBytesMax)
    throw new S3Error('MaxMessageLengthExceeded', 'Your request was too big.');
  const chunks: Buffer[] = [];
  await receiveBody({ message, request, bodySha256, write: async (chunk) => void chunks.push(chunk) });
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

async function* untilLate(body: AsyncIterableIterator<Buffer>, remainingMs: number): AsyncGenerator<Buffer> {
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
