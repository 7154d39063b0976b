import type { MultipartFiles, ObjectFiles, ObjectRecord } from './files.ts';
import { listObjects } from './listing.ts';
import { element, readItems, S3Error, type StoreReply, xmlReply } from './protocol.ts';
import {
  checksumHeader,
  type Incoming,
  readLength,
  receiveBody,
  receiveXml,
  tooLateError,
  type UploadTime,
  uploadDeadlineMs,
} from './signed-request.ts';

export interface OperationInput extends Incoming {
  readonly files: ObjectFiles;
  readonly multipart: MultipartFiles;
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

/** Operations on whole objects, and on the bucket. */
export const objectOperations: readonly Operation[] = [
  { on: 'object', method: 'PUT', byUrl: true, headers: [checksumHeader], run: putObject },
  { on: 'object', method: 'GET', byUrl: true, headers: readHeaders, run: getObject },
  { on: 'object', method: 'HEAD', headers: readHeaders, run: (input) => responseFor(input).reply },
  {
    on: 'object',
    method: 'DELETE',
    run: async ({ files, request }) => {
      for (const error of (await files.delete([request.key])).values()) throw error;
      return { status: 204 };
    },
  },
  { on: 'bucket', method: 'POST', marks: ['delete'], run: deleteObjects },
  {
    on: 'bucket',
    method: 'GET',
    marks: ['list-type'],
    query: listQuery,
    run: ({ files, request }) => listObjects(files.index, request),
  },
];

/**
 * Uploads of a key at a time by presigned URLs, whose bytes fill the disk before anybody counts them. The second one is of
 * a client whose first has lost its connection.
 */
const urlUploadsMax = 2;

/** Stores the body if it matches all that the request declares, else nothing. */
async function putObject(input: OperationInput): Promise<StoreReply> {
  const { files, request, now, uploadTime } = input;
  const { urlExpiresAtMs } = input.authenticated;
  const lastModifiedMs = now();
  // Only holders of the access key send requests that are signed in their headers.
  const deadlineMs =
    urlExpiresAtMs === undefined
      ? Number.POSITIVE_INFINITY
      : uploadDeadlineMs({ urlExpiresAtMs, sizeBytes: readLength(request) }, uploadTime);
  const { key } = request;
  const leave = files.uploading.take(
    key,
    urlExpiresAtMs === undefined ? Number.POSITIVE_INFINITY : urlUploadsMax,
  );
  if (!leave) throw new S3Error('SlowDown', 'Other uploads of this object are in progress. Retry later.');
  const uploaded = files.withUpload(async (upload) => {
    const write = (chunk: Buffer) => upload.write(chunk);
    const received = await receiveBody(input, write, deadlineMs - lastModifiedMs);
    await files.commit(upload, { key, lastModifiedMs, ...received }, () => {
      if (now() > deadlineMs) throw tooLateError();
    });
    return { status: 200, headers: { etag: `"${received.etag}"` } };
  });
  return await uploaded.finally(leave);
}

function getObject(input: OperationInput): StoreReply {
  const { reply, extent } = responseFor(input);
  return { ...reply, body: input.files.read(input.request.key, extent) };
}

/** What HEAD answers, and the bytes that GET adds to it. @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidRange */
function responseFor({ files, request }: OperationInput) {
  const { key, headers } = request;
  const record = files.index.get(key);
  if (record === undefined) throw noSuchKey();
  const { sizeBytes, etag, checksums } = record;
  checkTag(headers['if-match'], record);
  const { isPartial, ...extent } = readRange(headers.range, sizeBytes);
  // It is the checksum of the whole object, not of a part.
  const asksChecksum = !isPartial && String(headers['x-amz-checksum-mode']).toUpperCase() === 'ENABLED';
  const end = extent.first + extent.sizeBytes - 1;
  const reply: StoreReply = {
    status: isPartial ? 206 : 200,
    headers: {
      'accept-ranges': 'bytes',
      'content-length': String(extent.sizeBytes),
      'content-type': 'application/octet-stream',
      etag: `"${etag}"`,
      'last-modified': new Date(record.lastModifiedMs).toUTCString(),
      ...(isPartial && { 'content-range': `bytes ${extent.first}-${end}/${sizeBytes}` }),
      ...(asksChecksum && checksums.sha256 !== undefined && { [checksumHeader]: checksums.sha256 }),
    },
  };
  return { reply, extent };
}

export function noSuchKey(): S3Error {
  return new S3Error('NoSuchKey', "The specified key doesn't exist.");
}

/** What If-Match says: the client means the object with this ETag. @throws {S3Error} PreconditionFailed */
export function checkTag(header: string | string[] | undefined, { etag }: ObjectRecord): void {
  if (header === undefined || header === `"${etag}"` || header === etag) return;
  throw new S3Error('PreconditionFailed', "At least one of the pre-conditions you specified didn't hold");
}

/** A single range is served. Several ranges, or an invalid header, give the whole object, as on S3. */
function readRange(header: string | undefined, sizeBytes: number) {
  const whole = { first: 0, sizeBytes, isPartial: false };
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (from === '' && to === '') return whole;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return whole;
  const first = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  if (last < first) throw new S3Error('InvalidRange', "The requested range isn't satisfiable");
  return { first, sizeBytes: last - first + 1, isPartial: true };
}

/**
 * DeleteObjects: docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html. Each key is deleted as by DELETE, and
 * may fail for itself.
 *
 * @throws {S3Error} MalformedXML, BadDigest, NotImplemented, MaxMessageLengthExceeded
 */
async function deleteObjects(input: OperationInput): Promise<StoreReply> {
  const named = { root: 'Delete', item: 'Object', itemsMax: deletedKeysMax, fields: ['Key'] };
  const keys = [...new Set(readItems(await receiveXml(input), named).flat())];
  const failed = await input.files.delete(keys);
  const results = keys.map((key) => {
    if (!failed.has(key)) return `<Deleted>${element('Key', key)}</Deleted>`;
    const { code, message } = input.errorOf(failed.get(key));
    return `<Error>${element('Key', key)}${element('Code', code)}${element('Message', message)}</Error>`;
  });
  return xmlReply('DeleteResult', results);
}
