import { checksumElements } from './checksum-elements.ts';
import { BodyDigest, type ChecksumName } from './checksums.ts';
import { cloneSource } from './clone-source.ts';
import { openCopySource } from './copy-source.ts';
import type { ObjectRecord } from './object-record.ts';
import type { ObjectUpload } from './object-upload.ts';
import type { OperationInput } from './operation.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { replyInTime } from './slow-reply.ts';
import { readPartPlace } from './upload-part.ts';
import { element } from './xml.ts';

/** UploadPartCopy: a part made of an object's bytes. */
export async function copyPart(input: OperationInput): Promise<StoreReply> {
  return await replyInTime(copy(input), input.errorReply);
}

async function copy({ files, multipart, request, now }: OperationInput) {
  const where = readPartPlace(request);
  const { record: upload } = multipart.get(where);
  const { upload: file, part } = await copyBytes({ files, request }, upload.checksum?.name);
  try {
    const lastModifiedMs = now();
    const { etag, checksums } = part;
    const record = { key: where.key, ...part, contentType: '', lastModifiedMs };
    await multipart.commitPart(where, { file, record });
    return xmlReply(
      '<CopyPartResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
        element('LastModified', new Date(lastModifiedMs).toISOString()) +
        element('ETag', `"${etag}"`) +
        checksumElements(checksums) +
        '</CopyPartResult>',
    );
  } finally {
    await file.discard();
  }
}

/** The copied bytes, and what the part's record says of them. */
interface CopiedPart {
  readonly upload: ObjectUpload;
  readonly part: Pick<ObjectRecord, 'sizeBytes' | 'etag' | 'checksums'>;
}

async function copyBytes(
  { files, request }: Pick<OperationInput, 'files' | 'request'>,
  name: ChecksumName | undefined,
): Promise<CopiedPart> {
  const isWhole = request.headers['x-amz-copy-source-range'] === undefined;
  const clone = isWhole ? await cloneSource(files, request, name) : undefined;
  if (clone !== undefined) {
    const { sizeBytes, etag, checksums } = clone.source;
    const kept = name === undefined ? {} : { [name]: checksums[name] ?? '' };
    return { upload: clone.upload, part: { sizeBytes, etag, checksums: kept } };
  }
  const upload = await files.beginUpload();
  try {
    const { bytes, sizeBytes } = openCopySource(files, request);
    // The ETag is an MD5, so the bytes have to be read.
    const digest = new BodyDigest(new Set(name && [name]));
    for await (const piece of bytes) {
      digest.update(piece);
      await upload.write(piece);
    }
    const { md5, checksums } = digest.finish();
    return { upload, part: { sizeBytes, etag: md5.toString('hex'), checksums } };
  } catch (error) {
    await upload.discard();
    throw error;
  }
}
