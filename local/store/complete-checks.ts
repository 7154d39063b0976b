import { type ChecksumName, type Checksums, readChecksumHeaders } from './checksums.ts';
import type { ListedPart } from './complete-request.ts';
import type { MultipartRecord, MultipartUpload } from './multipart-files.ts';
import type { ObjectRecord } from './object-record.ts';
import { S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

/** Least size of a part that is not the last. */
const partBytesMin = 5 * 1024 * 1024;

/** A part that goes into the object. */
export interface ChosenPart {
  readonly partNumber: number;
  readonly part: ObjectRecord;
}

/**
 * Compares the list of a request with the parts that there are.
 *
 * @returns the chosen parts, in order.
 * @throws {S3Error} InvalidPartOrder, InvalidPart, EntityTooSmall, InvalidRequest
 */
export function checkParts(
  request: StoreRequest,
  { upload, listed }: { upload: MultipartUpload; listed: readonly ListedPart[] },
): readonly ChosenPart[] {
  let before = 0;
  for (const { partNumber } of listed) {
    if (partNumber <= before) {
      const text = 'The list of parts was not in ascending order. Parts must be ordered by part number.';
      throw new S3Error('InvalidPartOrder', text);
    }
    before = partNumber;
  }
  const chosen = listed.map((wanted) => choose(upload, wanted));
  for (const [at, { part, partNumber }] of chosen.entries()) {
    if (at === chosen.length - 1 || part.sizeBytes >= partBytesMin) continue;
    const text = `Your proposed upload is smaller than the minimum allowed size: part ${partNumber} has ${part.sizeBytes} bytes, and all but the last need ${partBytesMin}.`;
    throw new S3Error('EntityTooSmall', text);
  }
  checkSize(request, chosen);
  checkType(request, upload.record);
  return chosen;
}

function choose({ record, parts }: MultipartUpload, wanted: ListedPart): ChosenPart {
  const { partNumber, etag, checksums } = wanted;
  const part = parts.get(partNumber);
  const declared = Object.entries(checksums) as [ChecksumName, string][];
  if (part?.etag !== etag || declared.some(([name, value]) => part.checksums[name] !== value)) {
    throw new S3Error(
      'InvalidPart',
      "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
    );
  }
  const { checksum } = record;
  if (checksum?.type === 'COMPOSITE' && checksums[checksum.name] === undefined) {
    throw new S3Error(
      'InvalidRequest',
      `The upload was created using a ${checksum.name} checksum. The complete request must include the checksum for each part. It was missing for part ${partNumber} in the request.`,
    );
  }
  return { partNumber, part };
}

function checkSize({ headers }: StoreRequest, chosen: readonly ChosenPart[]): void {
  const declared = headers['x-amz-mp-object-size'];
  const sizeBytes = chosen.reduce((sum, { part }) => sum + part.sizeBytes, 0);
  if (declared === undefined || Number(declared) === sizeBytes) return;
  const text = `The provided 'x-amz-mp-object-size' header value ${declared} does not match what was computed: ${sizeBytes}`;
  throw new S3Error('InvalidRequest', text);
}

function checkType({ headers }: StoreRequest, { checksum }: MultipartRecord): void {
  const type = headers['x-amz-checksum-type'];
  if (type === undefined || type === checksum?.type) return;
  throw new S3Error(
    'InvalidRequest',
    `The upload was created using the ${checksum?.type ?? 'null'} checksum mode. The complete request must use the same checksum mode.`,
  );
}

/** Compares the object's checksums with those that the request's headers declare. @throws {S3Error} BadDigest */
export function checkObjectChecksums(request: StoreRequest, found: Checksums): void {
  for (const [name, value] of Object.entries(readChecksumHeaders(request, { mayBeComposite: true }))) {
    if (found[name as ChecksumName] !== value)
      throw new S3Error('BadDigest', `The ${name} you specified did not match the calculated checksum.`);
  }
}
