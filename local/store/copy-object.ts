import { checksumElements } from './checksum-elements.ts';
import { BodyDigest, type ChecksumName } from './checksums.ts';
import { cloneSource, type SourceClone } from './clone-source.ts';
import { openCopySource, readSourceKey } from './copy-source.ts';
import type { ObjectRecord } from './object-record.ts';
import type { OperationInput } from './operation.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { preconditionFailed, S3Error } from './s3-error.ts';
import { replyInTime } from './slow-reply.ts';
import type { StoreRequest } from './store-request.ts';
import { readChecksumAlgorithm } from './upload-checksum.ts';
import { readContentType, readMayReplace } from './upload-plan.ts';
import { readUserMetadata } from './user-metadata.ts';
import { element } from './xml.ts';

/** A copy that is not stored yet. */
interface Copy extends SourceClone {
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
  const { upload, source, digest } = await copyBytes({ files, request });
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

async function copyBytes(input: Pick<OperationInput, 'files' | 'request'>): Promise<Copy> {
  const { files, request } = input;
  const asked = readChecksumAlgorithm(request.headers['x-amz-checksum-algorithm']);
  const clone = await cloneSource(files, request, asked);
  if (clone === undefined) return await readAndCopy(input, asked);
  const { etag, checksums } = clone.source;
  return { ...clone, digest: { etag, checksums } };
}

async function readAndCopy(
  { files, request }: Pick<OperationInput, 'files' | 'request'>,
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
