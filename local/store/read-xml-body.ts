import type { OperationInput } from './operation.ts';
import { receiveBody } from './receive-body.ts';
import { S3Error } from './s3-error.ts';
import { checkUpload, readUploadPlan } from './upload-plan.ts';

/** A thousand of the longest keys, each character escaped, or 10,000 parts with a checksum each have less. */
const requestBytesMax = 8 * 1024 * 1024;

/**
 * A request's XML, after a check of all that is declared of it.
 *
 * @param options.ignores headers that declare something else.
 * @throws {S3Error}
 */
export async function readXmlBody(
  { request, authenticated, body }: OperationInput,
  { ignores = [] }: { ignores?: readonly string[] } = {},
): Promise<string> {
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !ignores.includes(name)),
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
