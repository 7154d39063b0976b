import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type ChecksumName, checksumName, crc32Text } from './checksums.ts';
import { S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

/**
 * The checksum that an upload in parts is created with: of the whole object, or composite, which is the checksum of the
 * parts' checksums with `-N` for N parts.
 * docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
 */
export interface UploadChecksum {
  readonly name: ChecksumName;
  readonly type: ChecksumType;
}

type ChecksumType = 'COMPOSITE' | 'FULL_OBJECT';

/** @returns undefined if the request names none. @throws {S3Error} NotImplemented, InvalidRequest */
export function readUploadChecksum({ headers }: StoreRequest): UploadChecksum | undefined {
  const name = readChecksumAlgorithm(headers['x-amz-checksum-algorithm']);
  const type = headers['x-amz-checksum-type'];
  if (name === undefined) {
    if (type === undefined) return undefined;
    throw invalid(
      'The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.',
    );
  }
  if (type === undefined || type === 'COMPOSITE') return { name, type: 'COMPOSITE' };
  if (type !== 'FULL_OBJECT') throw invalid('Value for x-amz-checksum-type header is invalid.');
  if (name !== 'crc32')
    throw invalid(`The FULL_OBJECT checksum type cannot be used with the ${name} checksum algorithm.`);
  return { name, type };
}

/** The algorithm that a header such as `SHA256` names. @throws {S3Error} NotImplemented */
export function readChecksumAlgorithm(header: string | string[] | undefined): ChecksumName | undefined {
  return header === undefined ? undefined : checksumName(`x-amz-checksum-${String(header).toLowerCase()}`);
}

/** The ETag of an object of these parts: the MD5 of their MD5s, and their number. */
export function multipartEtag(parts: readonly { readonly etag: string }[]): string {
  const hash = createHash('md5');
  for (const { etag } of parts) hash.update(etag, 'hex');
  return `${hash.digest('hex')}-${parts.length}`;
}

/** The composite checksum of parts' checksums (base64), in their order. */
export function compositeChecksum(name: ChecksumName, ofParts: readonly string[]): string {
  const bytes = Buffer.concat(ofParts.map((value) => Buffer.from(value, 'base64')));
  return `${hashOf(name, bytes)}-${ofParts.length}`;
}

function hashOf(name: ChecksumName, bytes: Buffer): string {
  return name === 'crc32' ? crc32Text(crc32(bytes)) : createHash(name).update(bytes).digest('base64');
}

function invalid(message: string): S3Error {
  return new S3Error('InvalidRequest', message);
}
