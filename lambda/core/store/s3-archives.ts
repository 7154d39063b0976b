import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { forEachLimited } from '../rules/async.ts';
import type { ArchiveClient } from './archive-client.ts';
import { MalformedAnswerError, StoreAnswerError } from './http-exchange.ts';
import {
  type ArchiveStore,
  type MultipartUpload,
  NoPartCopyError,
  ObjectExistsError,
  SourceGoneError,
  type SourceObject,
  type UploadedPart,
  UploadGoneError,
} from './rules/archive-store.ts';
import type { StorageClass } from './rules/storage-class.ts';
import { escapePath } from './signing.ts';

/** Keys come URL-encoded if the store knows that, because XML cannot contain some characters. */
const EncodingType = 'url';

/** The keys of all objects below a prefix. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
async function* keyPages(client: ArchiveClient, prefix: string): AsyncGenerator<readonly string[]> {
  let token: string | undefined;
  do {
    const input = { Bucket: client.bucket, Prefix: prefix, ContinuationToken: token, EncodingType } as const;
    const page = await client.send('ListObjectsV2', async ({ client, abortSignal }) => {
      const answer = await client.send(new ListObjectsV2Command(input), { abortSignal });
      const { Contents = [], IsTruncated = false, NextContinuationToken } = answer;
      const keys = Contents.map(({ Key }) => keyOf(required(Key, 'key'), answer));
      const next = IsTruncated ? required(NextContinuationToken, 'token of the next page') : undefined;
      return { keys, next: further(token, next) };
    });
    yield page.keys;
    token = page.next;
  } while (token !== undefined);
}

/** All unfinished uploads of keys with a prefix. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
async function* uploadPages(
  client: ArchiveClient,
  prefix: string,
): AsyncGenerator<readonly MultipartUpload[]> {
  let after: { readonly KeyMarker: string; readonly UploadIdMarker: string } | undefined;
  do {
    const input = { Bucket: client.bucket, Prefix: prefix, EncodingType, ...after } as const;
    const page = await client.send('ListMultipartUploads', async ({ client, abortSignal }) => {
      const answer = await client.send(new ListMultipartUploadsCommand(input), { abortSignal });
      const { Uploads = [], IsTruncated = false, NextKeyMarker, NextUploadIdMarker } = answer;
      const uploads = Uploads.map(({ Key, UploadId }) => ({
        key: keyOf(required(Key, 'key'), answer),
        uploadId: required(UploadId, 'upload'),
      }));
      if (!IsTruncated) return { uploads, next: undefined };
      const next = {
        KeyMarker: keyOf(required(NextKeyMarker, 'key of the next page'), answer),
        UploadIdMarker: required(NextUploadIdMarker, 'upload of the next page'),
      };
      further(JSON.stringify(after), JSON.stringify(next));
      return { uploads, next };
    });
    yield page.uploads;
    after = page.next;
  } while (after !== undefined);
}

/**
 * The parts of an upload. The SDK's own loop over pages never ends where a store says 0 as the next part's number.
 *
 * @throws {UploadGoneError} @throws {StoreUnavailableError} @throws {StoreRefusedError}
 */
async function* partPages(
  client: ArchiveClient,
  { key, uploadId }: MultipartUpload,
  { after: number = 0 }: { after?: number },
): AsyncGenerator<readonly UploadedPart[]> {
  let after = number === 0 ? undefined : String(number);
  do {
    const input = { Bucket: client.bucket, Key: key, UploadId: uploadId, PartNumberMarker: after };
    const page = await client.send('ListParts', async ({ client, abortSignal }) => {
      const answer = await ofUpload(client.send(new ListPartsCommand(input), { abortSignal }));
      const { Parts = [], IsTruncated = false, NextPartNumberMarker } = answer;
      const parts = Parts.map(({ PartNumber, Size, ETag }) => ({
        number: required(PartNumber, 'number of a part'),
        sizeBytes: required(Size, 'size of a part'),
        etag: required(ETag, 'ETag'),
      }));
      const next = IsTruncated ? required(NextPartNumberMarker, 'next part') : undefined;
      return { parts, next: further(after, next) };
    });
    yield page.parts;
    after = page.next;
  } while (after !== undefined);
}

/** Where the next page begins. @throws {MalformedAnswerError} if that is where this one began: there would be no end. */
function further(before: string | undefined, next: string | undefined): string | undefined {
  if (next !== undefined && next === before)
    throw new MalformedAnswerError('The response repeats the start of its page.');
  return next;
}

/** A key as a page of the SDK has it. @throws {MalformedAnswerError} */
export function keyOf(text: string, { EncodingType }: { EncodingType?: string | undefined }): string {
  if (EncodingType !== 'url') return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new MalformedAnswerError("The response has a key that isn't URL-encoded.", { cause });
  }
}

/** Objects of one call that are deleted at a time. */
const deletesAtOnce = 16;

/**
 * Archives in one bucket, over the SDK: most of their time is the store's.
 *
 * Each call may reach the store twice, if an answer was lost. Then an upload may be there that nobody knows, and
 * `complete` may have made the object although it throws {@link UploadGoneError}.
 *
 * @throws {StoreUnavailableError} @throws {StoreRefusedError} from every method.
 */
export const createArchiveStore = ({ client }: { client: ArchiveClient }): ArchiveStore => ({
  ...objectsIn(client),
  ...uploadsIn(client),
});

type ObjectMethod = 'put' | 'putSource' | 'get' | 'readInto' | 'head' | 'delete' | 'list';

function objectsIn(archive: ArchiveClient): Pick<ArchiveStore, ObjectMethod> {
  const Bucket = archive.bucket;
  const deleteOne = async (Key: string) => {
    const command = new DeleteObjectCommand({ Bucket, Key });
    await archive.send('DeleteObject', async ({ client, abortSignal }) => {
      await orNone(client.send(command, { abortSignal }));
    });
  };
  return {
    async put(Key, bytes) {
      const command = new PutObjectCommand({ Bucket, Key, Body: bytes });
      await archive.send('PutObject', ({ client, abortSignal }) => client.send(command, { abortSignal }));
    },
    putSource(key, bytes) {
      const command = new PutObjectCommand({ Bucket, Key: key, Body: bytes });
      return archive.send('PutObject', async ({ client, abortSignal }) => {
        const { ETag } = await client.send(command, { abortSignal });
        return { key, etag: required(ETag, 'ETag') };
      });
    },
    get(Key) {
      const command = new GetObjectCommand({ Bucket, Key });
      return archive.send('GetObject', async ({ client, abortSignal }) => {
        const answer = await orNone(client.send(command, { abortSignal }));
        return answer && (await required(answer.Body, 'body').transformToByteArray());
      });
    },
    async readInto({ key, etag }, range, into) {
      if (into.length === 0 || into.length !== range.endByte - range.startByte)
        throw new RangeError('The range is empty, or has not the length of the buffer.');
      const command = new GetObjectCommand({ Bucket, Key: key, IfMatch: etag, Range: rangeText(range) });
      await archive.send('GetObject', async ({ client, abortSignal }) => {
        const { Body } = await ofSource({ key, etag }, client.send(command, { abortSignal }));
        await readBodyInto(required(Body, 'body') as AsyncIterable<Uint8Array>, into);
      });
    },
    head(Key) {
      const command = new HeadObjectCommand({ Bucket, Key });
      return archive.send('HeadObject', async ({ client, abortSignal }) => {
        const answer = await orNone(client.send(command, { abortSignal }));
        if (answer === undefined) return undefined;
        return { sizeBytes: required(answer.ContentLength, 'length'), etag: required(answer.ETag, 'ETag') };
      });
    },
    // One by one: not every store knows DeleteObjects.
    delete: (keys) => forEachLimited(keys, deletesAtOnce, deleteOne),
    list: (prefix) => keyPages(archive, prefix),
  };
}

function uploadsIn(archive: ArchiveClient): Omit<ArchiveStore, ObjectMethod> {
  const Bucket = archive.bucket;
  let copiesParts = true;
  const inUpload = ({ key: Key, uploadId: UploadId }: MultipartUpload) => ({ Bucket, Key, UploadId });
  return {
    createUpload(key, { withCrc32 = false, storageClass } = {}) {
      // The checksum of the whole, so that parts may come without one.
      const checksum = { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const;
      const command = new CreateMultipartUploadCommand({
        Bucket,
        Key: key,
        ...(withCrc32 && checksum),
        ...(storageClass && { StorageClass: storageClass as StorageClass }),
      });
      return archive.send('CreateMultipartUpload', async ({ client, abortSignal }) => {
        const { UploadId } = await client.send(command, { abortSignal });
        return { key, uploadId: required(UploadId, 'upload') };
      });
    },
    uploads: (prefix) => uploadPages(archive, prefix),
    parts: (upload, options = {}) => partPages(archive, upload, options),
    uploadPart(upload, { number, bytes }) {
      const command = new UploadPartCommand({ ...inUpload(upload), PartNumber: number, Body: bytes });
      return archive.send('UploadPart', async ({ client, abortSignal }) => {
        const { ETag } = await ofUpload(client.send(command, { abortSignal }));
        return { number, sizeBytes: bytes.length, etag: required(ETag, 'ETag') };
      });
    },
    async copyPart(upload, { number, source, range, sizeBytes }) {
      if (!copiesParts) throw new NoPartCopyError(noPartCopy);
      const command = new UploadPartCopyCommand({
        ...inUpload(upload),
        PartNumber: number,
        CopySource: `${Bucket}/${escapePath(source.key)}`,
        CopySourceIfMatch: source.etag,
        ...(range && { CopySourceRange: rangeText(range) }),
      });
      const copying = archive.send('UploadPartCopy', async ({ client, abortSignal }) => {
        const answer = await ofUpload(ofSource(source, client.send(command, { abortSignal })));
        const { ETag, ChecksumCRC32 } = answer.CopyPartResult ?? {};
        const copied = { number, sizeBytes, etag: required(ETag, 'ETag') };
        // Of a range, some stores tell that of the whole object.
        const isTold = ChecksumCRC32 !== undefined && range === undefined;
        return isTold ? { ...copied, crc32: crc32Of(ChecksumCRC32) } : copied;
      });
      return await copying.catch((error: Error) => {
        if (!isNotImplemented(error.cause)) throw error;
        // It would say the same of every other part.
        copiesParts = false;
        throw new NoPartCopyError(noPartCopy, { cause: error });
      });
    },
    complete(upload, parts, { ifAbsent = false, totalBytes } = {}) {
      const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
      const command = new CompleteMultipartUploadCommand({
        ...inUpload(upload),
        MultipartUpload: { Parts },
        ...(ifAbsent && { IfNoneMatch: '*' }),
        ...(totalBytes !== undefined && { MpuObjectSize: totalBytes }),
      });
      return archive.send('CompleteMultipartUpload', async ({ client, abortSignal }) => {
        const { ETag } = await ofUpload(ifAbsentOf(client.send(command, { abortSignal })));
        return { etag: required(ETag, 'ETag') };
      });
    },
    async abort(upload) {
      const command = new AbortMultipartUploadCommand(inUpload(upload));
      await archive.send('AbortMultipartUpload', async ({ client, abortSignal }) => {
        await client.send(command, { abortSignal }).catch((error: unknown) => {
          if (!(error instanceof Error && error.name === 'NoSuchUpload')) throw error;
        });
      });
    },
  };
}

const noPartCopy = "The store doesn't support UploadPartCopy with x-amz-copy-source-if-match";

const isNotImplemented = (error: unknown) =>
  error instanceof StoreAnswerError && (error.status === 501 || error.name === 'NotImplemented');

/** undefined if there is no such object. */
async function orNone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNoSuchKey(error)) return undefined;
    throw error;
  }
}

/** Whether a call failed because there is no such object. An answer to HEAD has no body, and so another name. */
function isNoSuchKey(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown.name === 'NoSuchKey' || thrown.name === 'NotFound');
}

/** Says what is gone, if a call failed for that. @throws {SourceGoneError} */
async function ofSource<T>(source: SourceObject, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    const hasChanged = cause instanceof Error && cause.name === 'PreconditionFailed';
    throw hasChanged || isNoSuchKey(cause) ? new SourceGoneError(source, { cause }) : cause;
  }
}

/** The same for an upload. @throws {UploadGoneError} */
async function ofUpload<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    const isGone = cause instanceof Error && cause.name === 'NoSuchUpload';
    throw isGone ? new UploadGoneError('The upload was completed or aborted.', { cause }) : cause;
  }
}

/** Says that something is at the key, if a call failed for that. @throws {ObjectExistsError} */
async function ifAbsentOf<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    const exists = cause instanceof Error && cause.name === 'PreconditionFailed';
    throw exists ? new ObjectExistsError('There is an object at the key already.', { cause }) : cause;
  }
}

/** What an answer must have. @throws {MalformedAnswerError} if it has not. */
function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new MalformedAnswerError(`The answer has no ${name}.`);
  return value;
}

/**
 * Reads a body into bytes that it must fill.
 *
 * @throws {MalformedAnswerError} if it has more or fewer. A store that does not know ranges sends more.
 */
async function readBodyInto(body: AsyncIterable<Uint8Array>, into: Uint8Array): Promise<void> {
  let at = 0;
  for await (const piece of body) {
    // To leave the loop closes the connection.
    if (at + piece.length > into.length) throw wrongLength(into);
    into.set(piece, at);
    at += piece.length;
  }
  if (at < into.length) throw wrongLength(into);
}

const wrongLength = ({ length }: Uint8Array) =>
  new MalformedAnswerError(`The answer has not the ${length} bytes that were asked for.`);

/** The CRC-32 in base64, as a number. @throws {MalformedAnswerError} if it is none. */
function crc32Of(base64: string): number {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== 4) throw new MalformedAnswerError('The response has an invalid CRC32.');
  return bytes.readUInt32BE();
}

/** Bytes from `startByte` up to, and without, `endByte`, as headers name them. */
function rangeText({ startByte, endByte }: { startByte: number; endByte: number }): string {
  return `bytes=${startByte}-${endByte - 1}`;
}
