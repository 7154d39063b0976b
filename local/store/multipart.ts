import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { compareKeys } from '../../lambda/core/rules/names.ts';
import { absenceCheck, checkTag } from './conditions.ts';
import type { MultipartRecord, PartPlace, UploadPlace } from './files.ts';
import { pageEntriesMax, readCount, readEncoding } from './listing.ts';
import type { Extent, ObjectRecord } from './object-file.ts';
import { type Operation, type OperationInput, receiveUpload } from './objects.ts';
import { element, notImplemented, readItems, S3Error, type StoreReply, xmlReply } from './protocol.ts';
import { decode, receiveXml, type StoreRequest, uploadBytesMax } from './signed-request.ts';

/** Largest number of a part, and so of parts. */
const partNumberMax = 10_000;
/** Least size of a part that isn't the last. */
const partBytesMin = 5 * 1024 * 1024;

const checksumHeaders = ['x-amz-checksum-algorithm', 'x-amz-checksum-type'];

/**
 * Uploads in parts. All but a part itself must be signed in the headers: a presigned URL is for bytes of a known number, which are
 * reserved until a known time. Who makes them an object knows that all of them are.
 */
export const multipartOperations: readonly Operation[] = [
  { on: 'object', method: 'POST', marks: ['uploads'], headers: checksumHeaders, run: createUpload },
  {
    on: 'object',
    method: 'PUT',
    marks: ['partNumber', 'uploadId', 'x-amz-copy-source'],
    headers: ['x-amz-copy-source-if-match', 'x-amz-copy-source-range'],
    run: copyPart,
  },
  { on: 'object', method: 'PUT', byUrl: true, marks: ['partNumber', 'uploadId'], run: uploadPart },
  { on: 'object', method: 'GET', marks: ['uploadId'], query: ['part-number-marker'], run: listParts },
  { on: 'bucket', method: 'GET', marks: ['uploads'], query: ['encoding-type', 'prefix'], run: listUploads },
  {
    on: 'object',
    method: 'POST',
    marks: ['uploadId'],
    headers: ['if-none-match', 'x-amz-mp-object-size'],
    run: completeUpload,
  },
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

const placeOf = ({ key, query }: StoreRequest): UploadPlace => ({ id: query.get('uploadId') ?? '', key });

/** The part that a request names, of an upload that is open. @throws {S3Error} InvalidArgument, NoSuchUpload */
function partPlaceOf({ multipart, request }: OperationInput): PartPlace {
  const partNumber = Number(request.query.get('partNumber'));
  if (!Number.isInteger(partNumber) || partNumber < 1 || partNumber > partNumberMax)
    throw new S3Error('InvalidArgument', `Part number must be from 1 to ${partNumberMax}, inclusive`);
  const { id, key } = multipart.get(placeOf(request));
  return { id, key, partNumber };
}

async function createUpload({ multipart, request, now }: OperationInput): Promise<StoreReply> {
  const { key, bucket, headers } = request;
  const asked = checksumHeaders.map((name) => headers[name]).join(' ');
  const withCrc32 = asked === 'CRC32 FULL_OBJECT';
  if (!withCrc32 && asked !== ' ')
    throw notImplemented('checksums of uploads in parts, except a CRC32 of type FULL_OBJECT');
  const { id } = await multipart.create({ key, withCrc32, initiatedAtMs: now() });
  const elements = [element('Bucket', bucket), element('Key', key), element('UploadId', id)];
  return xmlReply('InitiateMultipartUploadResult', elements);
}

async function uploadPart(input: OperationInput): Promise<StoreReply> {
  const where = partPlaceOf(input);
  const { id, key, partNumber } = where;
  return await receiveUpload(input, `${id}/${partNumber}`, (upload, received, checkInTime) =>
    input.multipart.commitPart(where, upload, { key, ...received }, checkInTime),
  );
}

/** UploadPartCopy: a part made of an object's bytes. They are read, because the ETag is an MD5. */
async function copyPart(input: OperationInput): Promise<StoreReply> {
  const { files, multipart, message } = input;
  const where = partPlaceOf(input);
  const { withCrc32 } = multipart.get(where);
  // A copy may take longer than a connection may be idle.
  message.socket.setTimeout(0);
  return await files.withUpload(async (upload) => {
    const { record, extent } = readSource(input);
    const md5 = createHash('md5');
    let crc = 0;
    for await (const chunk of await files.read(record, extent)) {
      md5.update(chunk);
      crc = crc32(chunk, crc);
      await upload.write(chunk);
    }
    const etag = md5.digest('hex');
    const made = { sizeBytes: extent.sizeBytes, etag, checksums: {}, lastModifiedMs: input.now() };
    await multipart.commitPart(where, upload, { key: where.key, ...made });
    const crcBytes = Buffer.alloc(4);
    crcBytes.writeUInt32BE(crc);
    const told = withCrc32 ? crcBytes.toString('base64') : undefined;
    return xmlReply('CopyPartResult', [element('ETag', `"${etag}"`), element('ChecksumCRC32', told)]);
  });
}

/** The object, or the range of it, that is copied. @throws {S3Error} */
function readSource({ files, request }: OperationInput): { record: ObjectRecord; extent: Extent } {
  const { headers, bucket } = request;
  const [place = '', version] = String(headers['x-amz-copy-source']).split('?', 2);
  if (version !== undefined) throw notImplemented('versions');
  const [, sourceBucket, key = ''] = /^\/?([^/]*)\/(.+)$/s.exec(decode(place)) ?? [];
  if (sourceBucket !== bucket)
    throw new S3Error(
      'InvalidArgument',
      `The source of a copy must be ${bucket}/KEY; there's no other bucket.`,
    );
  const record = files.get(key);
  checkTag(headers['x-amz-copy-source-if-match'], record);
  const extent = readSourceRange(headers['x-amz-copy-source-range'], record);
  if (extent.sizeBytes <= uploadBytesMax) return { record, extent };
  throw new S3Error('InvalidRequest', `One copy carries at most ${uploadBytesMax} bytes.`);
}

function readSourceRange(header: string | string[] | undefined, { sizeBytes }: ObjectRecord): Extent {
  if (header === undefined) return { first: 0, sizeBytes };
  const [, from = '', to = ''] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(String(header)) ?? [];
  if (from !== '' && Number(from) <= Number(to) && Number(to) < sizeBytes)
    return { first: Number(from), sizeBytes: Number(to) - Number(from) + 1 };
  const text = `x-amz-copy-source-range must be bytes=FIRST-LAST, within the source's ${sizeBytes} bytes`;
  throw new S3Error('InvalidArgument', text);
}

/** ListParts: docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html. */
function listParts({ multipart, request }: OperationInput): StoreReply {
  const where = placeOf(request);
  const marker = readCount('part-number-marker', request.query.get('part-number-marker')) ?? 0;
  const left = multipart.partNumbers(where).filter((number) => number > marker);
  const page = left.slice(0, pageEntriesMax);
  return xmlReply('ListPartsResult', [
    element('Bucket', request.bucket),
    element('Key', where.key),
    element('UploadId', where.id),
    element('NextPartNumberMarker', page.at(-1) ?? 0),
    element('IsTruncated', left.length > page.length),
    ...page.map((partNumber) => {
      const part = multipart.part({ ...where, partNumber });
      if (part === undefined) return '';
      const told = [element('PartNumber', partNumber), element('ETag', `"${part.etag}"`)];
      return `<Part>${told.join('')}${element('Size', part.sizeBytes)}</Part>`;
    }),
  ]);
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
}

/** CompleteMultipartUpload: docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html. */
async function completeUpload(input: OperationInput): Promise<StoreReply> {
  const { files, multipart, message, request } = input;
  const listed = readCompleteRequest(await receiveXml(input));
  const where = placeOf(request);
  const demands = readDemands(input);
  // It may take longer than a connection may be idle.
  message.socket.setTimeout(0);
  try {
    await multipart.inTurn(where, async (upload) => {
      await assemble(input, upload, listed, demands);
      await multipart.end(where);
    });
  } catch (error) {
    // Like S3, it says again what it has said before: the client might not have heard it.
    const record = files.index.get(where.key);
    const isGone = error instanceof S3Error && error.code === 'NoSuchUpload';
    if (!isGone || record?.uploadId !== where.id || record.etag !== etagOf(listed)) throw error;
  }
  return xmlReply('CompleteMultipartUploadResult', [
    element('Bucket', request.bucket),
    element('Key', where.key),
    element('ETag', `"${etagOf(listed)}"`),
  ]);
}

/** What must hold for an upload to be completed. */
interface Demands {
  /** Throws if it does not hold now. @throws {S3Error} PreconditionFailed */
  readonly checkAbsent: () => void;
  /** Of all parts. undefined: any. */
  readonly totalBytes: number | undefined;
}

/** @throws {S3Error} NotImplemented, InvalidArgument */
function readDemands({ files, request }: OperationInput): Demands {
  const checkAbsent = absenceCheck(files, request);
  const size = request.headers['x-amz-mp-object-size'];
  if (size !== undefined && !/^\d{1,15}$/.test(String(size)))
    throw new S3Error('InvalidArgument', 'x-amz-mp-object-size must be a number of bytes.');
  return { checkAbsent, totalBytes: size === undefined ? undefined : Number(size) };
}

/** The body of CompleteMultipartUpload. @throws {S3Error} MalformedXML, NotImplemented, InvalidPartOrder */
export function readCompleteRequest(xml: string): readonly ListedPart[] {
  const named = { root: 'CompleteMultipartUpload', item: 'Part', itemsMax: partNumberMax };
  const listed = readItems(xml, { ...named, fields: ['PartNumber', 'ETag'] }).map(([number, etag = '']) => ({
    partNumber: Number(number),
    etag: etag.trim().replaceAll('"', ''),
  }));
  if (listed.every(({ partNumber }, at) => partNumber > (listed[at - 1]?.partNumber ?? 0))) return listed;
  const text = "The list of parts wasn't in ascending order. Parts must be ordered by part number.";
  throw new S3Error('InvalidPartOrder', text);
}

/**
 * Makes the parts an object, in the way in which a PUT becomes one: after a kill it's there whole, or not at all.
 *
 * @throws {S3Error} InvalidPart, EntityTooSmall, InvalidRequest, PreconditionFailed
 */
async function assemble(
  { files, multipart }: OperationInput,
  { id, key, initiatedAtMs }: MultipartRecord,
  listed: readonly ListedPart[],
  { checkAbsent, totalBytes }: Demands,
): Promise<void> {
  checkAbsent();
  await files.withUpload(async (upload) => {
    let sizeBytes = 0;
    for (const [index, { partNumber, etag }] of listed.entries()) {
      const where = { id, key, partNumber };
      const part = multipart.part(where);
      if (part?.etag !== etag)
        throw new S3Error(
          'InvalidPart',
          `Part ${partNumber} could not be found, or it has another entity tag.`,
        );
      if (part.sizeBytes < partBytesMin && index < listed.length - 1)
        throw new S3Error(
          'EntityTooSmall',
          `Part ${partNumber} isn't the last, so it needs ${partBytesMin} bytes.`,
        );
      for await (const chunk of multipart.readPart(where, part)) await upload.write(chunk);
      sizeBytes += part.sizeBytes;
    }
    if (totalBytes !== undefined && totalBytes !== sizeBytes)
      throw new S3Error('InvalidRequest', `The parts have ${sizeBytes} bytes, not ${totalBytes}.`);
    // S3 has the time of CreateMultipartUpload here.
    const made = { lastModifiedMs: initiatedAtMs, uploadId: id, etag: etagOf(listed), checksums: {} };
    // Another may have made the object meanwhile.
    await files.commit(upload, { key, sizeBytes, ...made }, checkAbsent);
  });
}

/** The ETag of an object of these parts: the MD5 of their MD5s, and their number. */
function etagOf(parts: readonly ListedPart[]): string {
  const hash = createHash('md5');
  for (const { etag } of parts) hash.update(etag, 'hex');
  return `${hash.digest('hex')}-${parts.length}`;
}
