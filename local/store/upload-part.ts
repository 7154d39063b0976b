import { checksumHeaders } from './checksums.ts';
import { partNumberMax } from './complete-request.ts';
import type { MultipartRecord } from './multipart-files.ts';
import type { OperationInput } from './operation.ts';
import { receiveBody } from './receive-body.ts';
import type { StoreReply } from './reply.ts';
import { S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import { checkUpload, readUploadPlan, type UploadPlan } from './upload-plan.ts';

/** UploadPart. Stores the body if it matches all that the request declares, else nothing. */
export async function uploadPart(input: OperationInput): Promise<StoreReply> {
  const { files, multipart, request, authenticated, now } = input;
  const where = readPartPlace(request);
  const { record: upload } = multipart.get(where);
  const computed = upload.checksum === undefined ? [] : [upload.checksum.name];
  const plan = readUploadPlan(request, authenticated.payload, computed);
  checkDeclared(plan, upload);
  const file = await files.beginUpload();
  try {
    const received = await receiveBody(input.body(), {
      plan,
      remainingMs: Number.POSITIVE_INFINITY,
      write: (chunk) => file.write(chunk),
    });
    const { etag, checksums } = checkUpload(plan, received);
    const { sizeBytes } = plan;
    const record = { key: where.key, sizeBytes, etag, checksums, contentType: '', lastModifiedMs: now() };
    await multipart.commitPart(where, { file, record });
    return { status: 200, headers: { etag: `"${etag}"`, ...checksumHeaders(checksums) } };
  } finally {
    await file.discard();
  }
}

/** The upload and part that a request names. @throws {S3Error} InvalidArgument */
export function readPartPlace({ key, query }: StoreRequest): { id: string; key: string; partNumber: number } {
  const text = query.get('partNumber') ?? '';
  const partNumber = Number(text);
  if (!/^\d{1,9}$/.test(text) || partNumber < 1 || partNumber > partNumberMax) {
    const message = `Part number must be an integer between 1 and ${partNumberMax}, inclusive`;
    throw new S3Error('InvalidArgument', message);
  }
  return { id: query.get('uploadId') ?? '', key, partNumber };
}

/** A composite checksum is made of what clients have declared for the parts, so each part needs it. */
function checkDeclared(plan: UploadPlan, { checksum }: MultipartRecord): void {
  if (checksum === undefined) return;
  const declared = [...Object.keys(plan.declared), ...plan.trailerNames];
  if (declared.includes(checksum.name)) return;
  if (declared.length === 0 && checksum.type === 'FULL_OBJECT') return;
  throw new S3Error(
    'InvalidRequest',
    `Checksum Type mismatch occurred, expected checksum Type: ${checksum.name}, actual checksum Type: ${declared[0] ?? 'null'}`,
  );
}
