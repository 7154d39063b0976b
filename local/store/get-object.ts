import { closeSync, createReadStream } from 'node:fs';
import { checksumHeaders } from './checksums.ts';
import { checkUnchanged, isUnmodified } from './conditions.ts';
import type { ObjectFiles } from './object-files.ts';
import type { ObjectRecord } from './object-record.ts';
import { type ByteRange, readPart } from './part-range.ts';
import type { StoreReply } from './reply.ts';
import { noSuchKey, S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import { metadataHeaders } from './user-metadata.ts';

/** @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidRange */
export function getObject(files: ObjectFiles, request: StoreRequest): StoreReply {
  const opened = files.open(request.key);
  if (opened === undefined) throw noSuchKey();
  const { fd, record } = opened;
  try {
    const { reply, range } = responseFor(request, record);
    if (range.lengthBytes === 0) {
      closeSync(fd);
      return reply;
    }
    const { first, lengthBytes } = range;
    return { ...reply, body: createReadStream('', { fd, start: first, end: first + lengthBytes - 1 }) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidRange */
export function headObject(files: ObjectFiles, request: StoreRequest): StoreReply {
  const record = files.index.get(request.key);
  if (record === undefined) throw noSuchKey();
  return responseFor(request, record).reply;
}

function responseFor(request: StoreRequest, record: ObjectRecord) {
  checkUnchanged(request, record);
  const validators = {
    etag: `"${record.etag}"`,
    'last-modified': new Date(record.lastModifiedMs).toUTCString(),
  };
  if (isUnmodified(request, record)) {
    const reply: StoreReply = { status: 304, headers: validators };
    return { reply, range: { first: 0, lengthBytes: 0, isPartial: false } };
  }
  const part = readPart(request, record);
  const range = part?.range ?? readRange(request.headers.range, record.sizeBytes);
  const asksChecksum = [
    request.headers['x-amz-checksum-mode'],
    request.query.get('x-amz-checksum-mode'),
  ].some((mode) => String(mode).toUpperCase() === 'ENABLED');
  const { first, lengthBytes, isPartial } = range;
  const reply: StoreReply = {
    status: isPartial ? 206 : 200,
    headers: {
      'accept-ranges': 'bytes',
      'content-length': String(lengthBytes),
      'content-type': record.contentType,
      ...validators,
      ...metadataHeaders(record.metadata),
      ...(isPartial && { 'content-range': `bytes ${first}-${first + lengthBytes - 1}/${record.sizeBytes}` }),
      ...part?.headers,
      // They are checksums of the whole object, not of a part.
      ...(asksChecksum && !isPartial && objectChecksumHeaders(record)),
    },
  };
  return { reply, range };
}

function objectChecksumHeaders({ checksums, compositeChecksums }: ObjectRecord): Record<string, string> {
  const headers = checksumHeaders({ ...checksums, ...compositeChecksums });
  if (Object.keys(headers).length === 0) return {};
  return {
    ...headers,
    'x-amz-checksum-type': compositeChecksums === undefined ? 'FULL_OBJECT' : 'COMPOSITE',
  };
}

/** A single range is served. Several ranges, or an invalid header, give the whole object, as on S3. */
function readRange(header: string | undefined, sizeBytes: number): ByteRange {
  const whole = { first: 0, lengthBytes: sizeBytes, isPartial: false };
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  const [, from = '', to = ''] = match ?? [];
  if (from === '' && to === '') return whole;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return whole;
  const first = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  if (last < first) {
    throw new S3Error('InvalidRange', 'The requested range is not satisfiable', {
      headers: { 'content-range': `bytes */${sizeBytes}` },
    });
  }
  return { first, lengthBytes: last - first + 1, isPartial: true };
}
