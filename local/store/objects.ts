import { markHeader } from '../../lambda/core/store/rules/store.ts';
import { absenceCheck, isUnchanged, rangeOf } from './conditions.ts';
import type { MultipartFiles, ObjectFiles, ObjectUpload } from './files.ts';
import { listObjects } from './listing.ts';
import type { ObjectRecord } from './object-file.ts';
import { element, readItems, S3Error, type StoreReply, xmlReply } from './protocol.ts';
import {
  type BodyWait,
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
  /** Supported headers among `x-amz-…` and, if it changes something, `if-…`, in addition to the marks. */
  readonly headers?: readonly string[];
  readonly run: (input: OperationInput) => Promise<StoreReply> | StoreReply;
}

/** Keys of one DeleteObjects, as on S3. */
const deletedKeysMax = 1000;

/** How browsers treat a download. They get no other type of it than bytes: the store has the origin of the console. */
const disposition = 'response-content-disposition';
const readHeaders = ['x-amz-checksum-mode'];
const listQuery = ['prefix', 'delimiter', 'start-after', 'continuation-token', 'max-keys', 'encoding-type'];

/** Operations on whole objects, and on the bucket. */
export const objectOperations: readonly Operation[] = [
  {
    on: 'object',
    method: 'PUT',
    byUrl: true,
    headers: [checksumHeader, 'if-none-match', markHeader],
    run: putObject,
  },
  { on: 'object', method: 'GET', byUrl: true, query: [disposition], headers: readHeaders, run: getObject },
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
 * Receives a body, and stores nothing if it doesn't match all that the request declares. By a URL, two bodies at a time may be for
 * one place, and as long as the URL allows.
 *
 * @param commit stores it. What it's given throws if that's too late.
 */
export async function receiveUpload(
  input: OperationInput,
  place: string,
  commit: (
    upload: ObjectUpload,
    received: Omit<ObjectRecord, 'key'>,
    checkInTime: () => void,
  ) => Promise<void>,
): Promise<StoreReply> {
  const { files, request, now, uploadTime } = input;
  const { urlExpiresAtMs } = input.authenticated;
  // Only holders of the access key send requests that are signed in their headers.
  const deadlineMs =
    urlExpiresAtMs === undefined
      ? Number.POSITIVE_INFINITY
      : uploadDeadlineMs({ urlExpiresAtMs, sizeBytes: readLength(request) }, uploadTime);
  const checkInTime = () => {
    if (now() > deadlineMs) throw tooLateError();
  };
  const put = (wait?: BodyWait) =>
    files.withUpload(async (upload) => {
      const lastModifiedMs = now();
      const write = (chunk: Buffer) => upload.write(chunk);
      const received = await receiveBody(input, write, { remainingMs: deadlineMs - lastModifiedMs, wait });
      await commit(upload, { lastModifiedMs, ...received }, checkInTime);
      return { status: 200, headers: { etag: `"${received.etag}"` } };
    });
  return await (urlExpiresAtMs === undefined ? put() : files.urlUploads.during(place, put));
}

async function putObject(input: OperationInput): Promise<StoreReply> {
  const { files, request } = input;
  const { key } = request;
  const checkAbsent = absenceCheck(files, request);
  checkAbsent();
  const mark = request.headers[markHeader]?.toString();
  if (mark !== undefined && input.authenticated.urlExpiresAtMs !== undefined)
    throw new S3Error('AccessDenied', `A URL can't have ${markHeader}.`);
  return await receiveUpload(input, key, (upload, received, checkInTime) =>
    files.commit(upload, { key, ...received, ...(mark !== undefined && { mark }) }, () => {
      checkInTime();
      checkAbsent();
    }),
  );
}

async function getObject(input: OperationInput): Promise<StoreReply> {
  const { reply, record, extent } = responseFor(input);
  return extent ? { ...reply, body: await input.files.read(record, extent) } : reply;
}

/** What HEAD answers, and the bytes that GET adds to it. @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidRange, InvalidArgument */
function responseFor({ files, request }: OperationInput) {
  const { key, headers, query } = request;
  const shown = query.get(disposition);
  if (shown !== undefined && !/^[ -~]+$/.test(shown))
    throw new S3Error('InvalidArgument', `${disposition} must be printable ASCII.`);
  const record = files.get(key);
  const { sizeBytes, etag, checksums } = record;
  const lastModified = new Date(record.lastModifiedMs).toUTCString();
  const version = { etag: `"${etag}"`, 'last-modified': lastModified };
  const unchanged: StoreReply = { status: 304, headers: version };
  if (isUnchanged(headers, record)) return { reply: unchanged, record, extent: undefined };
  const { isPartial, ...extent } = readRange(rangeOf(headers, record), sizeBytes);
  // It is the checksum of the whole object, not of a part.
  const asksChecksum = !isPartial && String(headers['x-amz-checksum-mode']).toUpperCase() === 'ENABLED';
  const end = extent.first + extent.sizeBytes - 1;
  const reply: StoreReply = {
    status: isPartial ? 206 : 200,
    headers: {
      ...version,
      'accept-ranges': 'bytes',
      'content-length': String(extent.sizeBytes),
      'content-type': 'application/octet-stream',
      ...(shown !== undefined && { 'content-disposition': shown }),
      ...(record.mark !== undefined && { [markHeader]: record.mark }),
      ...(isPartial && { 'content-range': `bytes ${extent.first}-${end}/${sizeBytes}` }),
      ...(asksChecksum && checksums.sha256 !== undefined && { [checksumHeader]: checksums.sha256 }),
    },
  };
  return { reply, record, extent };
}

/** A single range is served. Several ranges, or an invalid header, give the whole object, as on S3. */
function readRange(header: string | undefined, sizeBytes: number) {
  const whole = { first: 0, sizeBytes, isPartial: false };
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? [];
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
