import type { IncomingMessage } from 'node:http';
import { decodeAwsChunked } from './aws-chunked.ts';
import { checksumHeaders } from './checksums.ts';
import type { ObjectFiles } from './object-files.ts';
import type { ObjectUpload } from './object-upload.ts';
import type { PayloadDeclaration } from './payload-declaration.ts';
import type { StoreReply } from './reply.ts';
import { S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import { checkUpload, readUploadPlan, type Uploaded, type UploadPlan } from './upload-plan.ts';

/** Stores the body if it matches all that the request declares, else nothing. */
export async function putObject(input: {
  files: ObjectFiles;
  request: StoreRequest;
  payload: PayloadDeclaration;
  /** Tells the client to send its body if it waits for that, and returns the body. */
  body: () => IncomingMessage;
  nowMs: number;
}): Promise<StoreReply> {
  const { files, request, payload } = input;
  const plan = readUploadPlan(request, payload);
  if (!plan.mayReplace && files.index.get(request.key) !== undefined) throw existsError();
  const upload = await files.beginUpload();
  try {
    const { etag, checksums } = checkUpload(plan, await receive(input.body(), { plan, upload }));
    const record = {
      key: request.key,
      sizeBytes: plan.sizeBytes,
      etag,
      contentType: plan.contentType,
      checksums,
      lastModifiedMs: input.nowMs,
    };
    if ((await files.commit(upload, { record, mayReplace: plan.mayReplace })) === 'exists')
      throw existsError();
    return { status: 200, headers: { etag: `"${etag}"`, ...checksumHeaders(checksums) } };
  } finally {
    await upload.discard();
  }
}

async function receive(
  message: IncomingMessage,
  { plan, upload }: { plan: UploadPlan; upload: ObjectUpload },
): Promise<Uploaded> {
  const trailers = new Map<string, string>();
  // A refused body is drained later. Destroying it here would cut the connection before the response.
  const raw = message.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
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
