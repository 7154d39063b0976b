import type { ChecksumName } from './checksums.ts';
import { checkCopySize, checkSource, readSourceKey } from './copy-source.ts';
import type { ObjectFiles } from './object-files.ts';
import type { ObjectRecord } from './object-record.ts';
import type { ObjectUpload } from './object-upload.ts';
import { noSuchKey } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

/** An upload that has all bytes of a source, and the source's record. */
export interface SourceClone {
  readonly upload: ObjectUpload;
  readonly source: ObjectRecord;
}

/**
 * Copies a whole source without reading it, if its record has the digests that the copy needs.
 *
 * @param checksum one that the copy needs beside the MD5.
 * @returns undefined if the source must be read.
 * @throws {S3Error} NoSuchKey, PreconditionFailed, InvalidRequest
 */
export async function cloneSource(
  files: ObjectFiles,
  request: StoreRequest,
  checksum: ChecksumName | undefined,
): Promise<SourceClone | undefined> {
  const sourceKey = readSourceKey(request);
  const known = files.index.get(sourceKey);
  if (known === undefined) throw noSuchKey();
  checkSource(request, known);
  checkCopySize(known.sizeBytes);
  if (!hasDigests(known, checksum)) return undefined;
  const clone = await files.beginClone(sourceKey);
  if (clone === undefined) throw noSuchKey();
  const { upload, record } = clone;
  // The object may have been replaced meanwhile.
  if (record.etag === known.etag && hasDigests(record, checksum)) return { upload, source: record };
  await upload.discard();
  return undefined;
}

/** Those of an object that was uploaded in parts tell of its parts. */
function hasDigests(record: ObjectRecord, checksum: ChecksumName | undefined): boolean {
  if (record.uploadId !== undefined) return false;
  return checksum === undefined || record.checksums[checksum] !== undefined;
}
