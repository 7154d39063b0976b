import { createHash } from 'node:crypto';
import { closeSync } from 'node:fs';
import { compareKeys } from '../../lambda/domain/key-order.ts';
import {
  BodyDigest,
  bodyHeaders,
  checksumHeaders,
  readContentType,
  receiveBody,
  receiveXml,
} from './bodies.ts';
import { pageEntriesMax, readCount, readEncoding } from './listing.ts';
import type { MultipartUpload } from './multipart-files.ts';
import { copyRange, type ObjectRecord } from './object-files.ts';
import { copyBytes, copyHeaders, copyReply, type Operation, type OperationInput } from './objects.ts';
import {
  element,
  malformedXml,
  notImplemented,
  readElements,
  readRoot,
  S3Error,
  type StoreReply,
  textOf,
  xmlReply,
} from './protocol.ts';
import type { StoreRequest } from './signed-request.ts';

/** Largest number of a part, and so of parts. */
const partNumberMax = 10_000;
/** Least size of a part that isn't the last. */
const partBytesMin = 5 * 1024 * 1024;

const typeHeaders = ['x-amz-checksum-algorithm', 'x-amz-checksum-type'];

/**
 * Uploads in parts. They must be signed in their headers: a presigned URL is for one object of a known size, which is
 * reserved until a known time. An upload in parts has neither.
 */
export const multipartOperations: readonly Operation[] = [
  { on: 'object', method: 'POST', marks: ['uploads'], headers: typeHeaders, run: createUpload },
  {
    on: 'object',
    method: 'PUT',
    marks: ['partNumber', 'uploadId', 'x-amz-copy-source'],
    headers: [...copyHeaders, 'x-amz-copy-source-range'],
    run: copyPart,
  },
  { on: 'object', method: 'PUT', marks: ['partNumber', 'uploadId'], headers: bodyHeaders, run: uploadPart },
  {
    on: 'object',
    method: 'GET',
    marks: ['uploadId'],
    query: ['max-parts', 'part-number-marker'],
    run: listParts,
  },
  { on: 'bucket', method: 'GET', marks: ['uploads'], query: ['encoding-type', 'prefix'], run: listUploads },
  { on: 'object', method: 'POST', marks: ['uploadId'], run: completeUpload },
  {
    on: 'object',
    method: 'DELETE',
    marks: ['uploadId'],
    run: async ({ multipart, request }) => {
      const where = placeOf(request);
      await multipart.inTurn(where, () => multipart.end(where));
      return { status: 204 };
    },
  },
];

const placeOf = ({ key, query }: StoreRequest) => ({ id: query.get('uploadId') ?? '', key });

/** The upload and part that a request names. @throws {S3Error} InvalidArgument */
function partPlaceOf(request: StoreRequest): { id: string; key: string; partNumber: number } {
  const text = request.query.get('partNumber') ?? '';
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= partNumberMax)
    return { ...placeOf(request), partNumber: Number(text) };
  throw new S3Error('InvalidArgument', `Part number must be from 1 to ${partNumberMax}, inclusive`);
}

/** Of an upload that was created with a checksum of the whole object, each part has its own, too. */
const computedOf = ({ record }: MultipartUpload) =>
  record.checksum?.type === 'FULL_OBJECT' ? (['crc32'] as const) : [];

async function createUpload({ multipart, request, now }: OperationInput): Promise<StoreReply> {
  const { key, bucket, headers } = request;
  const [algorithm, type] = typeHeaders.map((name) => headers[name]);
  const isCrc32 = algorithm === 'CRC32' && type === 'FULL_OBJECT';
  if (!isCrc32 && (algorithm ?? type) !== undefined)
    throw notImplemented('checksums of uploads in parts, except a CRC32 of type FULL_OBJECT');
  const checksum = { name: 'crc32', type: 'FULL_OBJECT' } as const;
  const declared = { key, contentType: readContentType(request), initiatedAtMs: now() };
  const { id } = await multipart.create({ ...declared, ...(isCrc32 && { checksum }) });
  const elements = [element('Bucket', bucket), element('Key', key), element('UploadId', id)];
  const told = isCrc32 ? { [String(typeHeaders[0])]: 'CRC32', [String(typeHeaders[1])]: 'FULL_OBJECT' } : {};
  return xmlReply('InitiateMultipartUploadResult', elements, { headers: told });
}

/** Stores the body if it matches all that the request declares, else nothing. */
async function uploadPart(input: OperationInput): Promise<StoreReply> {
  const { files, multipart, message, request, now } = input;
  const where = partPlaceOf(request);
  const computed = computedOf(multipart.get(where));
  const file = await files.beginUpload();
  try {
    const write = (chunk: Buffer) => file.write(chunk);
    const { bodySha256 } = input.authenticated;
    const received = await receiveBody({ message, request, bodySha256, computed, write });
    const record = { key: where.key, contentType: '', lastModifiedMs: now(), ...received };
    await multipart.commitPart(where, { file, record });
    return { status: 200, headers: { etag: `"${received.etag}"`, ...checksumHeaders(received.checksums) } };
  } finally {
    await file.discard();
  }
}

/** UploadPartCopy: a part made of an object's bytes. */
async function copyPart(input: OperationInput): Promise<StoreReply> {
  const { multipart, request, now } = input;
  const where = partPlaceOf(request);
  const computed = computedOf(multipart.get(where));
  const { upload: file, copied } = await copyBytes(input, computed);
  try {
    const record = { key: where.key, contentType: '', lastModifiedMs: now(), ...copied };
    await multipart.commitPart(where, { file, record });
    return copyReply('CopyPartResult', record);
  } finally {
    await file.discard();
  }
}

/** ListParts: docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html. */
function listParts({ multipart, request }: OperationInput): StoreReply {
  const { bucket, key, query } = request;
  const where = placeOf(request);
  const { parts } = multipart.get(where);
  const marker = readCount('part-number-marker', query.get('part-number-marker')) ?? 0;
  const partsMax = Math.min(readCount('max-parts', query.get('max-parts')) ?? pageEntriesMax, pageEntriesMax);
  const left = [...parts].filter(([number]) => number > marker).sort(([a], [b]) => a - b);
  const page = left.slice(0, partsMax);
  return xmlReply('ListPartsResult', [
    element('Bucket', bucket),
    element('Key', key),
    element('UploadId', where.id),
    element('PartNumberMarker', marker),
    element('NextPartNumberMarker', page.at(-1)?.[0] ?? 0),
    element('MaxParts', partsMax),
    // As on S3, a page of no parts is not truncated: there would be no end to such pages.
    element('IsTruncated', page.length > 0 && left.length > page.length),
    ...page.map(([number, part]) => partElement(number, part)),
  ]);
}

function partElement(number: number, { lastModifiedMs, etag, sizeBytes, checksums }: ObjectRecord): string {
  const inner = [
    element('PartNumber', number),
    element('LastModified', new Date(lastModifiedMs).toISOString()),
    element('ETag', `"${etag}"`),
    element('Size', sizeBytes),
    element('ChecksumCRC32', checksums.crc32),
  ];
  return `<Part>${inner.join('')}</Part>`;
}

/**
 * ListMultipartUploads: docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html. There is one page, because
 * no more uploads may be open.
 */
function listUploads({ multipart, request }: OperationInput): StoreReply {
  const { bucket, query } = request;
  const encode = readEncoding(query.get('encoding-type'));
  const prefix = query.get('prefix') ?? '';
  const uploads = multipart
    .list()
    .map(({ record }) => record)
    .filter(({ key }) => key.startsWith(prefix))
    .sort((a, b) => compareKeys(a.key, b.key) || (a.id < b.id ? -1 : 1));
  return xmlReply('ListMultipartUploadsResult', [
    element('Bucket', bucket),
    element('Prefix', encode(prefix)),
    element('EncodingType', query.get('encoding-type')),
    element('IsTruncated', false),
    ...uploads.map(({ key, id, initiatedAtMs }) => {
      const initiated = element('Initiated', new Date(initiatedAtMs).toISOString());
      return `<Upload>${element('Key', encode(key))}${element('UploadId', id)}${initiated}</Upload>`;
    }),
  ]);
}

/** A part as the request to complete an upload lists it. The ETag has no quotes. */
interface ListedPart {
  readonly partNumber: number;
  readonly etag: string;
  readonly crc32: string | undefined;
}

/** A part that goes into the object. */
type ChosenPart = ListedPart & { readonly part: ObjectRecord };

/** CompleteMultipartUpload: docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html. */
async function completeUpload(input: OperationInput): Promise<StoreReply> {
  const { files, multipart, message, request, authenticated } = input;
  const listed = readCompleteRequest(await receiveXml(message, request, authenticated.bodySha256));
  const where = placeOf(request);
  // It may take longer than a connection may be idle.
  message.socket.setTimeout(0);
  try {
    return await multipart.inTurn(where, async (upload) => {
      const record = await assemble(input, upload, chooseParts(upload, listed));
      await multipart.end(where);
      return completedReply(request, record);
    });
  } catch (error) {
    // Like S3, it says again what it has said before: the client might not have heard it.
    const record = files.index.get(where.key);
    const isGone = error instanceof S3Error && error.code === 'NoSuchUpload';
    if (isGone && record?.uploadId === where.id && record.etag === etagOf(listed))
      return completedReply(request, record);
    throw error;
  }
}

/** The body of CompleteMultipartUpload. @throws {S3Error} MalformedXML */
export function readCompleteRequest(xml: string): readonly ListedPart[] {
  const parts = readRoot(xml, 'CompleteMultipartUpload').filter(({ name }) => name === 'Part');
  if (parts.length === 0 || parts.length > partNumberMax) throw malformedXml();
  return parts.map(({ inner }) => {
    const fields = readElements(inner);
    const [number = '', etag, crc32] = ['PartNumber', 'ETag', 'ChecksumCRC32'].map((name) =>
      textOf(fields, name)?.trim(),
    );
    if (!/^\d{1,9}$/.test(number) || etag === undefined) throw malformedXml();
    return { partNumber: Number(number), etag: etag.replaceAll('"', ''), crc32 };
  });
}

/** @throws {S3Error} InvalidPartOrder, InvalidPart, EntityTooSmall */
function chooseParts({ parts }: MultipartUpload, listed: readonly ListedPart[]): readonly ChosenPart[] {
  if (listed.some(({ partNumber }, at) => partNumber <= (listed[at - 1]?.partNumber ?? 0))) {
    const text = "The list of parts wasn't in ascending order. Parts must be ordered by part number.";
    throw new S3Error('InvalidPartOrder', text);
  }
  const chosen = listed.map((wanted) => {
    const part = parts.get(wanted.partNumber);
    if (part?.etag === wanted.etag && [undefined, part.checksums.crc32].includes(wanted.crc32))
      return { ...wanted, part };
    const text = `Part ${wanted.partNumber} could not be found, or it has another entity tag or checksum.`;
    throw new S3Error('InvalidPart', text);
  });
  for (const { part, partNumber } of chosen.slice(0, -1)) {
    if (part.sizeBytes >= partBytesMin) continue;
    const text = `Part ${partNumber} has ${part.sizeBytes} bytes, and all but the last need ${partBytesMin}.`;
    throw new S3Error('EntityTooSmall', `Your proposed upload is smaller than the minimum: ${text}`);
  }
  return chosen;
}

/** Makes the parts an object, in the way in which a PUT becomes one: after a kill it's there whole, or not at all. */
async function assemble(
  { files, multipart }: OperationInput,
  upload: MultipartUpload,
  parts: readonly ChosenPart[],
): Promise<ObjectRecord> {
  const { id, key, contentType, initiatedAtMs } = upload.record;
  const file = await files.beginUpload();
  try {
    const digest = new BodyDigest(computedOf(upload), { withMd5: false });
    for (const { partNumber, part } of parts) {
      const fd = multipart.openPart({ id, partNumber });
      try {
        await copyRange({ fd, first: 0, sizeBytes: part.sizeBytes }, { upload: file, digest });
      } finally {
        closeSync(fd);
      }
    }
    const sizeBytes = parts.reduce((sum, { part }) => sum + part.sizeBytes, 0);
    const { checksums } = digest.finish();
    // S3 has the time of CreateMultipartUpload here.
    const made = { lastModifiedMs: initiatedAtMs, uploadId: id, etag: etagOf(parts) };
    const record = { key, sizeBytes, contentType, checksums, ...made };
    await files.commit(file, record);
    return record;
  } finally {
    await file.discard();
  }
}

/** The ETag of an object of these parts: the MD5 of their MD5s, and their number. */
function etagOf(parts: readonly { readonly etag: string }[]): string {
  const hash = createHash('md5');
  for (const { etag } of parts) hash.update(etag, 'hex');
  return `${hash.digest('hex')}-${parts.length}`;
}

function completedReply({ bucket, key, headers }: StoreRequest, record: ObjectRecord): StoreReply {
  const { crc32 } = record.checksums;
  return xmlReply('CompleteMultipartUploadResult', [
    element('Location', `http://${headers.host}/${bucket}/${encodeURI(key)}`),
    element('Bucket', bucket),
    element('Key', key),
    element('ETag', `"${record.etag}"`),
    element('ChecksumCRC32', crc32),
    element('ChecksumType', crc32 && 'FULL_OBJECT'),
  ]);
}
