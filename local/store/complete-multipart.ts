import { assembleParts } from './assemble-parts.ts';
import { checksumElements } from './checksum-elements.ts';
import { checksumNames } from './checksums.ts';
import { checkParts } from './complete-checks.ts';
import { type ListedPart, readCompleteRequest } from './complete-request.ts';
import type { ObjectRecord } from './object-record.ts';
import type { OperationInput } from './operation.ts';
import { receiveBody } from './receive-body.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { preconditionFailed, S3Error } from './s3-error.ts';
import { replyInTime } from './slow-reply.ts';
import type { StoreRequest } from './store-request.ts';
import { multipartEtag } from './upload-checksum.ts';
import { checkUpload, readMayReplace, readUploadPlan } from './upload-plan.ts';
import { element } from './xml.ts';

/** The list of 10,000 parts with a checksum each has less. */
const requestBytesMax = 4 * 1024 * 1024;

/** CompleteMultipartUpload: docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html. */
export async function completeMultipart(input: OperationInput): Promise<StoreReply> {
  const listed = readCompleteRequest(await readBody(input));
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

/** The request's list, after a check of all that is declared of it. @throws {S3Error} */
async function readBody({ request, authenticated, body }: OperationInput): Promise<string> {
  // Here, these headers are about the object.
  const aboutObject = new Set(checksumNames.map((name) => `x-amz-checksum-${name}`));
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !aboutObject.has(name)),
  );
  const plan = readUploadPlan({ ...request, headers }, authenticated.payload);
  if (plan.sizeBytes > requestBytesMax)
    throw new S3Error('MaxMessageLengthExceeded', 'Your request was too big.');
  const chunks: Buffer[] = [];
  const received = await receiveBody(body(), {
    plan,
    remainingMs: Number.POSITIVE_INFINITY,
    write: async (chunk) => void chunks.push(chunk),
  });
  checkUpload(plan, received);
  return Buffer.concat(chunks).toString('utf8');
}
