import { checksumElements } from './checksum-elements.ts';
import { BodyDigest } from './checksums.ts';
import { openCopySource } from './copy-source.ts';
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
  const file = await files.beginUpload();
  try {
    const source = openCopySource(files, request);
    // The ETag is an MD5, so the bytes have to be read in any case.
    const digest = new BodyDigest(new Set(upload.checksum && [upload.checksum.name]));
    for await (const piece of source.bytes) {
      digest.update(piece);
      await file.write(piece);
    }
    const { md5, checksums } = digest.finish();
    const etag = md5.toString('hex');
    const lastModifiedMs = now();
    const { sizeBytes } = source;
    const record = { key: where.key, sizeBytes, etag, checksums, contentType: '', lastModifiedMs };
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
