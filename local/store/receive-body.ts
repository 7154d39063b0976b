import type { IncomingMessage } from 'node:http';
import { decodeAwsChunked } from './aws-chunked.ts';
import { S3Error } from './s3-error.ts';
import { untilDeadline } from './upload-deadline.ts';
import type { Uploaded, UploadPlan } from './upload-plan.ts';

/**
 * Hands the bytes of a body to `write`, without their framing, and hashes them.
 *
 * @param input.remainingMs how long the body may take; Infinity for as long as its connection lives.
 * @throws {S3Error} InvalidRequest, IncompleteBody, MalformedTrailerError, RequestTimeout
 */
export async function receiveBody(
  message: IncomingMessage,
  input: { plan: UploadPlan; remainingMs: number; write: (chunk: Buffer) => Promise<void> },
): Promise<Uploaded> {
  const { plan, remainingMs, write } = input;
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
    await write(chunk);
  }
  return { receivedBytes, trailers };
}
