import { closeSync, createReadStream } from 'node:fs';
import { modifiedMs, namesTag } from './conditions.ts';
import type { ObjectFiles } from './object-files.ts';
import type { ObjectRecord } from './object-record.ts';
import { noSuchKey, notImplemented, preconditionFailed, S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import { uploadBytesMax } from './upload-plan.ts';

/** The headers that every copy understands. */
export const copySourceHeaders = [
  'x-amz-copy-source-if-match',
  'x-amz-copy-source-if-none-match',
  'x-amz-copy-source-if-modified-since',
  'x-amz-copy-source-if-unmodified-since',
] as const;

/** What to copy: a range of an object that was opened. */
export interface CopySource {
  readonly record: ObjectRecord;
  readonly sizeBytes: number;
  /** To be read, because its end closes the file. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** Large, so that few calls move many bytes. */
const pieceBytes = 1024 * 1024;

/** The key that a copy names as its source. @throws {S3Error} InvalidArgument, NoSuchBucket, NotImplemented */
export function readSourceKey({ headers, bucket }: StoreRequest): string {
  const [place = '', version] = String(headers['x-amz-copy-source']).split('?', 2);
  if (version !== undefined) throw notImplemented('versions');
  const [, sourceBucket = '', key = ''] = /^\/?([^/]*)\/(.+)$/s.exec(decodeSource(place)) ?? [];
  if (key === '') {
    throw new S3Error('InvalidArgument', 'Copy Source must mention the source bucket and key: BUCKET/KEY');
  }
  if (sourceBucket !== bucket)
    throw new S3Error('NoSuchBucket', `The only bucket of this store is ${bucket}.`);
  return key;
}

/**
 * Opens the source of a copy, if it is as the request wants it.
 *
 * @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidArgument, InvalidRequest
 */
export function openCopySource(files: ObjectFiles, request: StoreRequest): CopySource {
  const opened = files.open(readSourceKey(request));
  if (opened === undefined) throw noSuchKey();
  const { fd, record } = opened;
  try {
    checkSource(request, record);
    const { first, sizeBytes } = readSourceRange(request, record);
    if (sizeBytes === 0) closeSync(fd);
    const range = { fd, start: first, end: first + sizeBytes - 1, highWaterMark: pieceBytes };
    return { record, sizeBytes, bytes: sizeBytes === 0 ? noBytes() : createReadStream('', range) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

async function* noBytes(): AsyncGenerator<Buffer> {}

/**
 * The conditions on the source; a tag says more than a time.
 * docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
 *
 * @throws {S3Error} PreconditionFailed
 */
export function checkSource({ headers }: StoreRequest, record: ObjectRecord): void {
  const header = (name: string) => {
    const value = headers[`x-amz-copy-source-${name}`];
    return value === undefined ? undefined : String(value);
  };
  const atMs = modifiedMs(record);
  const ifMatch = header('if-match');
  const ifNoneMatch = header('if-none-match');
  // An invalid date says nothing.
  const isRight =
    ifMatch === undefined
      ? !(atMs > Date.parse(header('if-unmodified-since') ?? ''))
      : namesTag(ifMatch, record);
  const isNew =
    ifNoneMatch === undefined
      ? !(atMs <= Date.parse(header('if-modified-since') ?? ''))
      : !namesTag(ifNoneMatch, record);
  if (!isRight || !isNew) throw preconditionFailed();
}

/** @throws {S3Error} InvalidRequest */
export function checkCopySize(sizeBytes: number): void {
  if (sizeBytes <= uploadBytesMax) return;
  throw new S3Error(
    'InvalidRequest',
    `The specified copy source is larger than the maximum allowable size for a copy source: ${uploadBytesMax}`,
  );
}

function readSourceRange({ headers }: StoreRequest, record: ObjectRecord) {
  const header = headers['x-amz-copy-source-range'];
  const range =
    header === undefined ? { first: 0, sizeBytes: record.sizeBytes } : readRange(String(header), record);
  checkCopySize(range.sizeBytes);
  return range;
}

function readRange(header: string, record: ObjectRecord) {
  const [, from = '', to = ''] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(header.trim()) ?? [];
  const first = Number(from);
  const last = Number(to);
  if (from === '' || last < first) {
    throw new S3Error(
      'InvalidArgument',
      'The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy',
    );
  }
  if (last >= record.sizeBytes) {
    const text = `Range specified is not valid for source object of size: ${record.sizeBytes}`;
    throw new S3Error('InvalidArgument', text);
  }
  return { first, sizeBytes: last - first + 1 };
}

function decodeSource(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source is not percent-encoded UTF-8.', { cause });
  }
}
