import { createReadStream } from 'node:fs';
import { BodyDigest, type Checksums } from './checksums.ts';
import { type ChosenPart, checkObjectChecksums } from './complete-checks.ts';
import type { MultipartFiles, MultipartUpload } from './multipart-files.ts';
import type { ObjectFiles } from './object-files.ts';
import type { ObjectRecord } from './object-record.ts';
import { runsOf } from './part-range.ts';
import { preconditionFailed } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import { compositeChecksum, multipartEtag } from './upload-checksum.ts';

/** Large, so that few calls move many bytes. */
const pieceBytes = 1024 * 1024;

/**
 * Makes the parts an object, in the way in which a PUT becomes one: after a kill it is there whole, or not at all.
 *
 * @throws {S3Error} BadDigest, PreconditionFailed
 */
export async function assembleParts(
  { files, multipart }: { files: ObjectFiles; multipart: MultipartFiles },
  input: {
    request: StoreRequest;
    upload: MultipartUpload;
    parts: readonly ChosenPart[];
    mayReplace: boolean;
  },
): Promise<ObjectRecord> {
  const { request, upload, parts, mayReplace } = input;
  const compositeChecksums = compositeOf(upload, parts);
  if (compositeChecksums !== undefined) checkObjectChecksums(request, compositeChecksums);
  const file = await files.beginUpload();
  try {
    const whole = upload.record.checksum?.type === 'FULL_OBJECT' ? upload.record.checksum.name : undefined;
    const digest = new BodyDigest(new Set(whole === undefined ? [] : [whole]), { withMd5: false });
    for (const { partNumber, part } of parts) {
      if (part.sizeBytes === 0) continue;
      const fd = multipart.openPart({ id: upload.record.id, partNumber });
      const end = part.sizeBytes - 1;
      for await (const piece of createReadStream('', { fd, start: 0, end, highWaterMark: pieceBytes })) {
        digest.update(piece);
        await file.write(piece);
      }
    }
    const { checksums } = digest.finish();
    if (compositeChecksums === undefined) checkObjectChecksums(request, checksums);
    const { metadata } = upload.record;
    const partSizes = runsOf(parts.map(({ part }) => part.sizeBytes));
    const record = {
      key: upload.record.key,
      sizeBytes: parts.reduce((sum, { part }) => sum + part.sizeBytes, 0),
      etag: multipartEtag(parts.map(({ part }) => part)),
      contentType: upload.record.contentType,
      checksums,
      // S3 has the time of CreateMultipartUpload here.
      lastModifiedMs: upload.record.initiatedAtMs,
      uploadId: upload.record.id,
      ...(metadata && { metadata }),
      ...(compositeChecksums && { compositeChecksums }),
      ...(partSizes && { partSizes }),
    };
    const outcome = await files.commit(file, { record, mayReplace, isLate: () => false });
    if (outcome !== 'stored') throw preconditionFailed();
    return record;
  } finally {
    await file.discard();
  }
}

function compositeOf({ record }: MultipartUpload, parts: readonly ChosenPart[]): Checksums | undefined {
  if (record.checksum?.type !== 'COMPOSITE') return undefined;
  const { name } = record.checksum;
  // A part is refused without it.
  const ofParts = parts.map(({ part }) => part.checksums[name] ?? '');
  return { [name]: compositeChecksum(name, ofParts) };
}
