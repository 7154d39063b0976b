import { closeSync, createReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import {
  BodyDigest,
  bodyHeaders,
  type ChecksumName,
  checksumHeaders,
  readContentType,
  readLength,
  receiveBody,
  receiveXml,
  tooLateError,
  type UploadTime,
  uploadBytesMax,
  uploadDeadlineMs,
} from './bodies.ts';
import { listObjects } from './listing.ts';
import type { MultipartFiles } from './multipart-files.ts';
import { copyRange, type ObjectFiles, type ObjectRecord, type ObjectUpload } from './object-files.ts';
import {
  element,
  malformedXml,
  noSuchKey,
  notImplemented,
  preconditionFailed,
  readElements,
  readRoot,
  S3Error,
  type StoreReply,
  textOf,
  xmlReply,
} from './protocol.ts';
import { type Authenticated, decode, keyBytesMax, type StoreRequest } from './signed-request.ts';

export interface OperationInput {
  readonly files: ObjectFiles;
  readonly multipart: MultipartFiles;
  readonly request: StoreRequest;
  readonly authenticated: Authenticated;
  /** The body. */
  readonly message: IncomingMessage;
  readonly now: () => number;
  readonly uploadTime: UploadTime;
  /** What the client is to hear of something thrown. */
  readonly errorOf: (thrown: unknown) => S3Error;
}

/** An operation and what it supports. A request with anything else is refused, not ignored. */
export interface Operation {
  readonly on: 'bucket' | 'object';
  readonly method: string;
  /** Parameters or headers that distinguish it from others of the same method: all of them must be there. */
  readonly marks?: readonly string[];
  /** Whether a presigned URL may ask for it. If not, the signature must be in the headers, whatever a URL signs. */
  readonly byUrl?: boolean;
  /** Supported parameters, in addition to the marks. */
  readonly query?: readonly string[];
  /** Supported headers among `x-amz-…` and `if-…`, in addition to the marks. */
  readonly headers?: readonly string[];
  readonly run: (input: OperationInput) => Promise<StoreReply> | StoreReply;
}

/** Keys of one DeleteObjects, as on S3. */
const deletedKeysMax = 1000;

const readHeaders = ['if-match', 'x-amz-checksum-mode'];
const listQuery = ['prefix', 'delimiter', 'start-after', 'continuation-token', 'max-keys', 'encoding-type'];

export const copyHeaders = ['x-amz-copy-source-if-match'];

/** Operations on whole objects, and on the bucket. */
export const objectOperations: readonly Operation[] = [
  { on: 'object', method: 'PUT', marks: ['x-amz-copy-source'], headers: copyHeaders, run: copyObject },
  { on: 'object', method: 'PUT', byUrl: true, headers: bodyHeaders, run: putObject },
  { on: 'object', method: 'GET', byUrl: true, headers: readHeaders, run: getObject },
  { on: 'object', method: 'HEAD', byUrl: true, headers: readHeaders, run: headObject },
  {
    on: 'object',
    method: 'DELETE',
    byUrl: true,
    run: async ({ files, request }) => {
      for (const error of (await files.delete([request.key])).values()) throw error;
      return { status: 204 };
    },
  },
  { on: 'bucket', method: 'POST', marks: ['delete'], headers: bodyHeaders, run: deleteObjects },
  {
    on: 'bucket',
    method: 'GET',
    marks: ['list-type'],
    byUrl: true,
    query: listQuery,
    run: ({ files, request }) => listObjects(files.index, request),
  },
  // The bucket always exists. S3 answers 200 to the owner who creates a bucket again.
  {
    on: 'bucket',
    method: 'PUT',
    run: ({ request }) => ({ status: 200, headers: { location: `/${request.bucket}` } }),
  },
];

/** Stores the body if it matches all that the request declares, else nothing. */
async function putObject(input: OperationInput): Promise<StoreReply> {
  const { files, message, request, authenticated, now } = input;
  const { bodySha256, urlExpiresAtMs } = authenticated;
  const lastModifiedMs = now();
  // Only holders of the access key send requests that are signed in their headers.
  const deadlineMs =
    urlExpiresAtMs === undefined
      ? Number.POSITIVE_INFINITY
      : uploadDeadlineMs({ urlExpiresAtMs, sizeBytes: readLength(request) }, input.uploadTime);
  const upload = await files.beginUpload();
  try {
    const write = (chunk: Buffer) => upload.write(chunk);
    const remainingMs = deadlineMs - lastModifiedMs;
    const received = await receiveBody({ message, request, bodySha256, remainingMs, write });
    const record = { key: request.key, contentType: readContentType(request), lastModifiedMs, ...received };
    if (!(await files.commit(upload, record, () => now() > deadlineMs))) throw tooLateError();
    return { status: 200, headers: { etag: `"${received.etag}"`, ...checksumHeaders(received.checksums) } };
  } finally {
    await upload.discard();
  }
}

/** @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidRange */
function getObject({ files, request }: OperationInput): StoreReply {
  const opened = files.open(request.key);
  if (opened === undefined) throw noSuchKey();
  const { fd, record } = opened;
  try {
    const { reply, first, lengthBytes } = responseFor(request, record);
    if (lengthBytes > 0)
      return { ...reply, body: createReadStream('', { fd, start: first, end: first + lengthBytes - 1 }) };
    closeSync(fd);
    return reply;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidRange */
function headObject({ files, request }: OperationInput): StoreReply {
  const record = files.index.get(request.key);
  if (record === undefined) throw noSuchKey();
  return responseFor(request, record).reply;
}

function responseFor(request: StoreRequest, record: ObjectRecord) {
  const { sizeBytes, etag } = record;
  const { headers } = request;
  checkTag(headers['if-match'], record);
  const { first, lengthBytes, isPartial } = readRange(headers.range, sizeBytes);
  // They are checksums of the whole object, not of a part.
  const asksChecksum = !isPartial && String(headers['x-amz-checksum-mode']).toUpperCase() === 'ENABLED';
  const checksums = asksChecksum ? checksumHeaders(record.checksums) : {};
  const reply: StoreReply = {
    status: isPartial ? 206 : 200,
    headers: {
      'accept-ranges': 'bytes',
      'content-length': String(lengthBytes),
      'content-type': record.contentType,
      etag: `"${etag}"`,
      'last-modified': new Date(record.lastModifiedMs).toUTCString(),
      ...(isPartial && { 'content-range': `bytes ${first}-${first + lengthBytes - 1}/${sizeBytes}` }),
      ...checksums,
      ...(Object.keys(checksums).length > 0 && { 'x-amz-checksum-type': 'FULL_OBJECT' }),
    },
  };
  return { reply, first, lengthBytes };
}

/** What If-Match says: the client means an object with one of these ETags. @throws {S3Error} PreconditionFailed */
function checkTag(header: string | string[] | undefined, { etag }: ObjectRecord): void {
  if (header === undefined) return;
  const tags = String(header).split(',');
  if (!tags.some((tag) => ['*', `"${etag}"`, etag].includes(tag.trim()))) throw preconditionFailed();
}

/** A single range is served. Several ranges, or an invalid header, give the whole object, as on S3. */
function readRange(header: string | undefined, sizeBytes: number) {
  const whole = { first: 0, lengthBytes: sizeBytes, isPartial: false };
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (from === '' && to === '') return whole;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return whole;
  const first = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  if (last < first) throw new S3Error('InvalidRange', "The requested range isn't satisfiable");
  return { first, lengthBytes: last - first + 1, isPartial: true };
}

/**
 * DeleteObjects: docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html. Each key is deleted as by DELETE, and
 * may fail for itself.
 *
 * @throws {S3Error} MalformedXML, BadDigest, NotImplemented, MaxMessageLengthExceeded
 */
async function deleteObjects(input: OperationInput): Promise<StoreReply> {
  const { files, message, request, authenticated } = input;
  const { keys, isQuiet } = readDeleteRequest(await receiveXml(message, request, authenticated.bodySha256));
  const isTooLong = (key: string) => Buffer.byteLength(key) > keyBytesMax;
  const failed = new Map(await files.delete(keys.filter((key) => !isTooLong(key))));
  for (const key of keys.filter(isTooLong))
    failed.set(key, new S3Error('KeyTooLongError', `A key has at most ${keyBytesMax} bytes.`));
  const results = keys.map((key) => {
    if (!failed.has(key)) return isQuiet ? '' : `<Deleted>${element('Key', key)}</Deleted>`;
    const { code, message } = input.errorOf(failed.get(key));
    return `<Error>${element('Key', key)}${element('Code', code)}${element('Message', message)}</Error>`;
  });
  return xmlReply('DeleteResult', results);
}

function readDeleteRequest(xml: string): { keys: readonly string[]; isQuiet: boolean } {
  const root = readRoot(xml, 'Delete');
  const objects = root.filter(({ name }) => name === 'Object');
  if (objects.length === 0 || objects.length > deletedKeysMax) throw malformedXml();
  const keys = objects.map(({ inner }) => {
    const fields = readElements(inner);
    const other = fields.find(({ name }) => name !== 'Key');
    if (other !== undefined) throw notImplemented(`${other.name.slice(0, 100)} in DeleteObjects`);
    const key = textOf(fields, 'Key') ?? '';
    if (key === '') throw malformedXml();
    return key;
  });
  return { keys: [...new Set(keys)], isQuiet: textOf(root, 'Quiet') === 'true' };
}

/** CopyObject, within the bucket. */
async function copyObject(input: OperationInput): Promise<StoreReply> {
  const { files, request, now } = input;
  if (readSourceKey(request) === request.key)
    throw new S3Error('InvalidRequest', 'This copy request is illegal: it copies an object to itself.');
  const { upload, source, copied } = await copyBytes(input);
  try {
    const lastModifiedMs = now();
    const { contentType } = source;
    await files.commit(upload, { key: request.key, contentType, lastModifiedMs, ...copied });
    return copyReply('CopyObjectResult', { ...copied, lastModifiedMs });
  } finally {
    await upload.discard();
  }
}

/** The answer to a copy, of an object or a part. */
export function copyReply(
  root: string,
  record: Pick<ObjectRecord, 'etag' | 'checksums' | 'lastModifiedMs'>,
): StoreReply {
  return xmlReply(root, [
    element('LastModified', new Date(record.lastModifiedMs).toISOString()),
    element('ETag', `"${record.etag}"`),
    element('ChecksumCRC32', record.checksums.crc32),
    element('ChecksumSHA256', record.checksums.sha256),
  ]);
}

/**
 * Copies the object, or the range of it, that a request names as its source. It's read, because the ETag is an MD5.
 *
 * @param computed checksums of the copy; those of the source by default.
 * @returns an upload, to be committed or discarded.
 * @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidArgument, InvalidRequest
 */
export async function copyBytes(
  { files, request, message }: OperationInput,
  computed?: readonly ChecksumName[],
): Promise<{
  upload: ObjectUpload;
  source: ObjectRecord;
  copied: Pick<ObjectRecord, 'sizeBytes' | 'etag' | 'checksums'>;
}> {
  // A copy may take longer than a connection may be idle.
  message.socket.setTimeout(0);
  const upload = await files.beginUpload();
  try {
    const opened = files.open(readSourceKey(request));
    if (opened === undefined) throw noSuchKey();
    const { fd, record: source } = opened;
    try {
      checkTag(request.headers['x-amz-copy-source-if-match'], source);
      const range = readSourceRange(request, source);
      const digest = new BodyDigest(computed ?? Object.keys(source.checksums));
      await copyRange({ fd, ...range }, { upload, digest });
      return { upload, source, copied: { sizeBytes: range.sizeBytes, ...digest.finish() } };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

/** @throws {S3Error} InvalidArgument, NoSuchBucket, NotImplemented */
function readSourceKey({ headers, bucket }: StoreRequest): string {
  const [place = '', version] = String(headers['x-amz-copy-source']).split('?', 2);
  if (version !== undefined) throw notImplemented('versions');
  const [, sourceBucket = '', key = ''] = /^\/?([^/]*)\/(.+)$/s.exec(decode(place)) ?? [];
  if (key === '')
    throw new S3Error('InvalidArgument', 'Copy Source must mention the source bucket and key: BUCKET/KEY');
  if (sourceBucket === bucket) return key;
  throw new S3Error('NoSuchBucket', `The only bucket of this store is ${bucket}.`);
}

function readSourceRange({ headers }: StoreRequest, source: ObjectRecord) {
  const header = headers['x-amz-copy-source-range'];
  const [, from = '', to = ''] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(String(header ?? '')) ?? [];
  const first = Number(from);
  const sizeBytes = header === undefined ? source.sizeBytes : Number(to) - first + 1;
  if (header !== undefined && (from === '' || sizeBytes < 1 || Number(to) >= source.sizeBytes)) {
    const text = `x-amz-copy-source-range must be bytes=FIRST-LAST, within the source's ${source.sizeBytes} bytes`;
    throw new S3Error('InvalidArgument', text);
  }
  if (sizeBytes <= uploadBytesMax) return { first, sizeBytes };
  throw new S3Error('InvalidRequest', `One copy carries at most ${uploadBytesMax} bytes.`);
}
