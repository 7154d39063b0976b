import {
  BodyDigest,
  type ChecksumName,
  type Checksums,
  checkedValue,
  checksumName,
  checksumNames,
  readChecksumHeaders,
} from './checksums.ts';
import type { PayloadDeclaration } from './payload-declaration.ts';
import { notImplemented, S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

/** What a PUT declares about its body; read before the body. */
export interface UploadPlan {
  readonly sizeBytes: number;
  readonly isChunked: boolean;
  readonly contentType: string;
  readonly mayReplace: boolean;
  readonly digest: BodyDigest;
  readonly declared: Checksums;
  readonly computed: readonly ChecksumName[];
  readonly trailerNames: readonly ChecksumName[];
  readonly contentMd5: string | undefined;
  readonly payloadSha256Hex: string | undefined;
}

export interface Uploaded {
  readonly receivedBytes: number;
  readonly trailers: ReadonlyMap<string, string>;
}

/** S3's limit for one PUT, one part and one copy. */
export const uploadBytesMax = 5 * 1024 ** 3;
const contentTypeCharsMax = 1024;

/** The headers that declare a checksum's value. */
export const checksumValueHeaders = checksumNames.map((name) => `x-amz-checksum-${name}`);

/** The headers beginning with `x-amz-` that declare something of a body. */
export const bodyHeaders = [
  ...checksumValueHeaders,
  'x-amz-sdk-checksum-algorithm',
  'x-amz-decoded-content-length',
  'x-amz-trailer',
];

/**
 * @param computed checksums that are kept though the request may not declare them.
 * @throws {S3Error}
 */
export function readUploadPlan(
  request: StoreRequest,
  payload: PayloadDeclaration,
  computed: readonly ChecksumName[] = [],
): UploadPlan {
  const { headers } = request;
  const declared = readChecksumHeaders(request);
  const trailerNames = payload.kind === 'chunked' ? readTrailerNames(headers['x-amz-trailer']) : [];
  const names = new Set<ChecksumName>([
    ...(Object.keys(declared) as ChecksumName[]),
    ...trailerNames,
    ...computed,
  ]);
  if (payload.kind === 'hashed') names.add('sha256');
  const encodings = (headers['content-encoding'] ?? '').split(',').map((encoding) => encoding.trim());
  if (encodings.some((encoding) => encoding !== '' && encoding !== 'aws-chunked')) {
    throw notImplemented('a Content-Encoding');
  }
  if (payload.kind !== 'chunked' && encodings.includes('aws-chunked')) {
    throw notImplemented('aws-chunked without STREAMING-UNSIGNED-PAYLOAD-TRAILER');
  }
  return {
    sizeBytes: readSize(request, payload),
    isChunked: payload.kind === 'chunked',
    contentType: readContentType(request),
    mayReplace: readMayReplace(request),
    digest: new BodyDigest(names),
    declared,
    computed,
    trailerNames,
    contentMd5: readMd5(headers['content-md5']),
    payloadSha256Hex: payload.kind === 'hashed' ? payload.sha256Hex : undefined,
  };
}

/**
 * Compares what was received with what was declared.
 *
 * @returns the ETag, and the checksums that the client declared or that are to be kept.
 * @throws {S3Error}
 */
export function checkUpload(plan: UploadPlan, uploaded: Uploaded): { etag: string; checksums: Checksums } {
  if (uploaded.receivedBytes !== plan.sizeBytes) {
    throw new S3Error(
      'IncompleteBody',
      `The body has ${uploaded.receivedBytes} bytes, not ${plan.sizeBytes}.`,
    );
  }
  const { md5, checksums: found } = plan.digest.finish();
  const declared: Record<string, string> = { ...plan.declared };
  for (const name of plan.trailerNames) {
    const value = uploaded.trailers.get(`x-amz-checksum-${name}`);
    if (value === undefined)
      throw new S3Error('MalformedTrailerError', `The trailer x-amz-checksum-${name} is missing.`);
    declared[name] = checkedValue(name, value);
  }
  for (const [name, value] of Object.entries(declared)) {
    if (found[name as ChecksumName] !== value) {
      throw new S3Error(
        'BadDigest',
        `The ${name.toUpperCase()} you specified did not match the calculated checksum.`,
      );
    }
  }
  if (plan.payloadSha256Hex !== undefined && found.sha256 !== hexToBase64(plan.payloadSha256Hex)) {
    throw new S3Error(
      'XAmzContentSHA256Mismatch',
      "The provided 'x-amz-content-sha256' header does not match what was computed.",
    );
  }
  if (plan.contentMd5 !== undefined && plan.contentMd5 !== md5.toString('base64')) {
    throw new S3Error('BadDigest', 'The Content-MD5 you specified did not match what we received.');
  }
  for (const name of plan.computed) declared[name] = found[name] ?? '';
  return { etag: md5.toString('hex'), checksums: declared };
}

export function readContentType({ headers }: StoreRequest): string {
  return (headers['content-type'] ?? 'binary/octet-stream').slice(0, contentTypeCharsMax);
}

function readSize({ headers }: StoreRequest, payload: PayloadDeclaration): number {
  const name = payload.kind === 'chunked' ? 'x-amz-decoded-content-length' : 'content-length';
  const text = headers[name];
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text)) {
    throw new S3Error('MissingContentLength', `You must provide the ${name} HTTP header.`);
  }
  if (Number(text) > uploadBytesMax) {
    throw new S3Error('EntityTooLarge', `One PUT carries at most ${uploadBytesMax} bytes.`);
  }
  return Number(text);
}

function readTrailerNames(header: string | string[] | undefined): ChecksumName[] {
  const names = String(header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== '').map(checksumName);
}

/** False if the client wants to write only a new object. @throws {S3Error} NotImplemented */
export function readMayReplace({ headers }: StoreRequest): boolean {
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined && ifNoneMatch.trim() !== '*')
    throw notImplemented('If-None-Match other than *');
  return ifNoneMatch === undefined;
}

function readMd5(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const text = String(header);
  if (Buffer.from(text, 'base64').length === 16) return text;
  throw new S3Error('InvalidDigest', 'The Content-MD5 you specified is not valid.');
}

function hexToBase64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}
