import { checksumElements } from './checksum-elements.ts';
import { BodyDigest, type ChecksumName } from './checksums.ts';
import { checkCopySize, checkSource, openCopySource, readSourceKey } from './copy-source.ts';
import type { ObjectRecord } from './object-record.ts';
import type { ObjectUpload } from './object-upload.ts';
import type { OperationInput } from './operation.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { noSuchKey, preconditionFailed, S3Error } from './s3-error.ts';
import { replyInTime } from './slow-reply.ts';
import type { StoreRequest } from './store-request.ts';
import { readChecksumAlgorithm } from './upload-checksum.ts';
import { readContentType, readMayReplace } from './upload-plan.ts';
import { readUserMetadata } from './user-metadata.ts';
import { element } from './xml.ts';

/** A copy that is not stored yet. */
interface Copy {
  readonly upload: ObjectUpload;
  readonly source: ObjectRecord;
  readonly digest: Pick<ObjectRecord, 'etag' | 'checksums'>;
}

/** CopyObject, within the bucket. */
export async function copyObject(input: OperationInput): Promise<StoreReply> {
  return await replyInTime(copy(input), input.errorReply);
}

async function copy({ files, request, now }: OperationInput) {
  const sourceKey = readSourceKey(request);
  const mayReplace = readMayReplace(request);
  const replaced = readReplaced(request, sourceKey);
  const { upload, source, digest } = await copyBytes({ files, request, sourceKey });
  try {
    const lastModifiedMs = now();
    const { contentType, metadata } = replaced ?? source;
    const record = {
      key: request.key,
      sizeBytes: source.sizeBytes,
      contentType,
      lastModifiedMs,
      ...digest,
      ...(metadata && { metadata }),
    };
    const outcome = await files.commit(upload, { record, mayReplace, isLate: () => false });
    if (outcome === 'exists') throw preconditionFailed();
    return xmlReply(
      '<CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
        element('LastModified', new Date(lastModifiedMs).toISOString()) +
        element('ETag', `"${digest.etag}"`) +
        checksumElements(digest.checksums) +
        '</CopyObjectResult>',
    );
  } finally {
    await upload.discard();
  }
}

/** What the copy does not take from its source. @throws {S3Error} InvalidArgument, InvalidRequest */
function readReplaced(
  request: StoreRequest,
  sourceKey: string,
): Pick<ObjectRecord, 'contentType' | 'metadata'> | undefined {
  const directive = request.headers['x-amz-metadata-directive'] ?? 'COPY';
  if (directive === 'REPLACE') {
    const metadata = readUserMetadata(request);
    return { contentType: readContentType(request), ...(metadata && { metadata }) };
  }
  if (directive !== 'COPY') throw new S3Error('InvalidArgument', 'Unknown metadata directive.');
  if (sourceKey !== request.key) return undefined;
  throw new S3Error(
    'InvalidRequest',
    "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
  );
}

async function copyBytes(input: {
  files: OperationInput['files'];
  request: StoreRequest;
  sourceKey: string;
}): Promise<Copy> {
  const { files, request, sourceKey } = input;
  const known = files.index.get(sourceKey);
  if (known === undefined) throw noSuchKey();
  checkSource(request, known);
  checkCopySize(known.sizeBytes);
  const asked = readChecksumAlgorithm(request.headers['x-amz-checksum-algorithm']);
  if (hasDigest(known, asked)) {
    const clone = await files.beginClone(sourceKey);
    if (clone === undefined) throw noSuchKey();
    const { upload, record } = clone;
    // The object may have been replaced meanwhile.
    if (record.etag === known.etag && hasDigest(record, asked)) {
      const { etag, checksums } = record;
      return { upload, source: record, digest: { etag, checksums } };
    }
    await upload.discard();
  }
  return await readAndCopy(input, asked);
}

/** Whether an object's ETag and checksums are those of a copy. Those of an upload in parts tell of its parts. */
function hasDigest(record: ObjectRecord, asked: ChecksumName | undefined): boolean {
  if (record.uploadId !== undefined) return false;
  return asked === undefined || record.checksums[asked] !== undefined;
}

async function readAndCopy(
  { files, request }: { files: OperationInput['files']; request: StoreRequest },
  asked: ChecksumName | undefined,
): Promise<Copy> {
  const upload = await files.beginUpload();
  try {
    const { record: source, bytes } = openCopySource(files, request);
    const kept = Object.keys({ ...source.checksums, ...source.compositeChecksums }) as ChecksumName[];
    const body = new BodyDigest(new Set(asked === undefined ? kept : [asked]));
    for await (const piece of bytes) {
      body.update(piece);
      await upload.write(piece);
    }
    const { md5, checksums } = body.finish();
    return { upload, source, digest: { etag: md5.toString('hex'), checksums } };
  } catch (error) {
    await upload.discard();
    throw error;
  }
}
