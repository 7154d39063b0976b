import type { IncomingMessage } from 'node:http';
import type { Authenticated } from './authenticate.ts';
import { decodeAwsChunked } from './aws-chunked.ts';
import { checksumHeaders } from './checksums.ts';
import type { ObjectFiles } from './object-files.ts';
import type { ObjectUpload } from './object-upload.ts';
import type { StoreReply } from './reply.ts';
import { S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import { tooLateError, type UploadTime, untilDeadline, uploadDeadlineMs } from './upload-deadline.ts';
import { checkUpload, readUploadPlan, type Uploaded, type UploadPlan } from './upload-plan.ts';

/** Stores the body if it matches all that the request declares, else nothing. */
export async function putObject(input: {
  files: ObjectFiles;
  request: StoreRequest;
  authenticated: Authenticated;
  /** Tells the client to send its body if it waits for that, and returns the body. */
  body: () => IncomingMessage;
  now: () => number;
  uploadTime: UploadTime;
}): Promise<StoreReply> {
  const { files, request, authenticated, now } = input;
  const begunAtMs = now();
  const plan = readUploadPlan(request, authenticated.payload);
  const deadlineMs = deadlineOf(authenticated, { plan, uploadTime: input.uploadTime });
  if (!plan.mayReplace && files.index.get(request.key) !== undefined) throw existsError();
  const upload = await files.beginUpload();
  try {
    const { etag, checksums } = checkUpload(
      plan,
      await receive(input.body(), { plan, upload, remainingMs: deadlineMs - begunAtMs }),
    );
    const record = {
      key: request.key,
      sizeBytes: plan.sizeBytes,
      etag,
      contentType: plan.contentType,
      checksums,
      lastModifiedMs: begunAtMs,
    };
    const isLate = () => now() > deadlineMs;
    const outcome = await files.commit(upload, { record, mayReplace: plan.mayReplace, isLate });
    if (outcome === 'exists') throw existsError();
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

async function receive(
  message: IncomingMessage,
  { plan, upload, remainingMs }: { plan: UploadPlan; upload: ObjectUpload; remainingMs: number },
): Promise<Uploaded> {
  const trailers = new Map<string, string>();
  // A refused body is drained later. Destroying it here would cut the connection before the response.
  const body = message.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  const raw = remainingMs === Number.POSITIVE_INFINITY ? body : untilDeadline(body, remainingMs);
  const bytes = plan.isChunked ? decodeAwsChunked(raw, (name, value) => trailers.set(name, value)) : raw;
  let receivedBytes = 0;
  for await (const chunk of bytes) {
    receivedBytes += chunk.length;
    if (receivedBytes > plan.sizeBytes)
      throw new S3Error('InvalidRequest', 'The body is longer than declared.');
    plan.digest.update(chunk);
    await upload.write(chunk);
  }
  return { receivedBytes, trailers };
}

function existsError(): S3Error {
  return new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
}
