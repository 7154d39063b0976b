import { assembleParts } from './assemble-parts.ts';
import { checksumElements } from './checksum-elements.ts';
import { checkParts } from './complete-checks.ts';
import { type ListedPart, readCompleteRequest } from './complete-request.ts';
import type { ObjectRecord } from './object-record.ts';
import type { OperationInput } from './operation.ts';
import { readXmlBody } from './read-xml-body.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { preconditionFailed, S3Error } from './s3-error.ts';
import { replyInTime } from './slow-reply.ts';
import type { StoreRequest } from './store-request.ts';
import { multipartEtag } from './upload-checksum.ts';
import { checksumValueHeaders, readMayReplace } from './upload-plan.ts';
import { element } from './xml.ts';

/** CompleteMultipartUpload: docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html. */
export async function completeMultipart(input: OperationInput): Promise<StoreReply> {
  // Its checksum headers are about the object.
  const aboutObject = checksumValueHeaders;
  const listed = readCompleteRequest(await readXmlBody(input, { ignores: aboutObject }));
  return await replyInTime(complete(input, listed), input.errorReply);
}

async function complete(input: OperationInput, listed: readonly ListedPart[]) {
  const { files, multipart, request } = input;
  const where = { id: request.query.get('uploadId') ?? '', key: request.key };
  const mayReplace = readMayReplace(request);
  try {
    return await multipart.inTurn(where, async (upload) => {
      if (!mayReplace && files.index.get(where.key) !== undefined) throw preconditionFailed();
      const parts = checkParts(request, { upload, listed });
      const record = await assembleParts({ files, multipart }, { request, upload, parts, mayReplace });
      await multipart.end(where);
      return completedReply(request, record);
    });
  } catch (error) {
    // Like S3, it says again what it has said before: the client may not have heard it.
    const record = files.index.get(where.key);
    const isGone = error instanceof S3Error && error.code === 'NoSuchUpload';
    if (isGone && record?.uploadId === where.id && record.etag === multipartEtag(listed))
      return completedReply(request, record);
    throw error;
  }
}

function completedReply({ bucket, key, headers }: StoreRequest, record: ObjectRecord) {
  const { checksums, compositeChecksums } = record;
  const type = compositeChecksums === undefined ? 'FULL_OBJECT' : 'COMPOSITE';
  const hasChecksum = Object.keys({ ...checksums, ...compositeChecksums }).length > 0;
  return xmlReply(
    '<CompleteMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
      element('Location', `http://${headers.host}/${bucket}/${encodeURI(key)}`) +
      element('Bucket', bucket) +
      element('Key', key) +
      element('ETag', `"${record.etag}"`) +
      checksumElements({ ...checksums, ...compositeChecksums }) +
      element('ChecksumType', hasChecksum ? type : undefined) +
      '</CompleteMultipartUploadResult>',
  );
}
