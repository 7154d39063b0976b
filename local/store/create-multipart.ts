import type { OperationInput } from './operation.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { readUploadChecksum } from './upload-checksum.ts';
import { readContentType } from './upload-plan.ts';
import { readUserMetadata } from './user-metadata.ts';
import { element } from './xml.ts';

/** CreateMultipartUpload. */
export async function createMultipart({ multipart, request, now }: OperationInput): Promise<StoreReply> {
  const checksum = readUploadChecksum(request);
  const metadata = readUserMetadata(request);
  const { id } = await multipart.create({
    key: request.key,
    contentType: readContentType(request),
    initiatedAtMs: now(),
    ...(checksum && { checksum }),
    ...(metadata && { metadata }),
  });
  const xml =
    '<InitiateMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    element('Bucket', request.bucket) +
    element('Key', request.key) +
    element('UploadId', id) +
    '</InitiateMultipartUploadResult>';
  if (checksum === undefined) return xmlReply(xml);
  const headers = {
    'x-amz-checksum-algorithm': checksum.name.toUpperCase(),
    'x-amz-checksum-type': checksum.type,
  };
  return xmlReply(xml, { headers });
}
