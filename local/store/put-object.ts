import type { Authenticated } from './authenticate.ts';
import { checksumHeaders } from './checksums.ts';
import type { OperationInput } from './operation.ts';
import { receiveBody } from './receive-body.ts';
import type { StoreReply } from './reply.ts';
import { preconditionFailed } from './s3-error.ts';
import { tooLateError, type UploadTime, uploadDeadlineMs } from './upload-deadline.ts';
import { checkUpload, readUploadPlan, type UploadPlan } from './upload-plan.ts';
import { readUserMetadata } from './user-metadata.ts';

/** Stores the body if it matches all that the request declares, else nothing. */
export async function putObject(input: OperationInput): Promise<StoreReply> {
  const { files, request, authenticated, now } = input;
  const begunAtMs = now();
  const plan = readUploadPlan(request, authenticated.payload);
  const metadata = readUserMetadata(request);
  const deadlineMs = deadlineOf(authenticated, { plan, uploadTime: input.uploadTime });
  if (!plan.mayReplace && files.index.get(request.key) !== undefined) throw preconditionFailed();
  const upload = await files.beginUpload();
  try {
    const { etag, checksums } = checkUpload(
      plan,
      await receiveBody(input.body(), {
        plan,
        remainingMs: deadlineMs - begunAtMs,
        write: (chunk) => upload.write(chunk),
      }),
    );
    const record = {
      key: request.key,
      sizeBytes: plan.sizeBytes,
      etag,
      contentType: plan.contentType,
      checksums,
      lastModifiedMs: begunAtMs,
      ...(metadata && { metadata }),
    };
    const isLate = () => now() > deadlineMs;
    const outcome = await files.commit(upload, { record, mayReplace: plan.mayReplace, isLate });
    if (outcome === 'exists') throw preconditionFailed();
    if (outcome === 'late') throw tooLateError();
    return { status: 200, headers: { etag: `"${etag}"`, ...checksumHeaders(checksums) } };
  } finally {
    await upload.discard();
  }
}

/** Infinity for a request that is signed in its headers: only holders of the access key send those. */
function deadlineOf(
  { urlExpiresAtMs }: Authenticated,
  { plan, uploadTime }: { plan: UploadPlan; uploadTime: UploadTime },
): number {
  if (urlExpiresAtMs === undefined) return Number.POSITIVE_INFINITY;
  return uploadDeadlineMs({ urlExpiresAtMs, sizeBytes: plan.sizeBytes }, uploadTime);
}
