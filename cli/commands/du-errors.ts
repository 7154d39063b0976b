import { StoreRefusedError } from '../../lambda/adapters/s3/errors.ts';
import { StoreUnavailableError } from '../../lambda/ports/object-store.ts';
import { CliError } from '../errors.ts';

interface Place {
  readonly bucket: string;
  readonly endpoint: string | undefined;
  readonly region: string;
}

/** What the SDK's error tells, where it is one of an answer. */
interface StoreAnswer {
  readonly name: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
  readonly code?: string;
}

/** An error of the store in the words of somebody who can do something about it. Others come back as they are. */
export function explainStoreError(error: unknown, place: Place): unknown {
  const isRefused = error instanceof StoreRefusedError;
  if (!isRefused && !(error instanceof StoreUnavailableError)) return error;
  const cause = (error.cause ?? error) as StoreAnswer;
  const where = place.endpoint ?? `AWS (${place.region})`;
  const say = (message: string, hint: string) => new CliError(message, { hint, cause: error });
  if (cause.name === 'CredentialsProviderError') {
    return say(
      'no credentials for the store',
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or sign in with `aws sso login`.',
    );
  }
  if (!isRefused) return explainUnavailable(error, cause, where, say);
  return explainRefusal(cause, place, where, say);
}

type Say = (message: string, hint: string) => CliError;

function explainUnavailable(error: Error, cause: StoreAnswer, where: string, say: Say): CliError {
  if (cause.code === 'ECONNREFUSED' || cause.code === 'ENOTFOUND' || cause.code === 'EAI_AGAIN') {
    return say(`${where} is not reached (${cause.code})`, 'Check --endpoint, and that the store is running.');
  }
  const detail = error.cause instanceof Error ? `${error.message} ${error.cause.message}` : error.message;
  return say(
    `${where} did not list the path: ${detail}`,
    'Try again later, or with fewer requests: --concurrency 8.',
  );
}

function explainRefusal(cause: StoreAnswer, { bucket, region }: Place, where: string, say: Say): CliError {
  const status = cause.$metadata?.httpStatusCode;
  const bucketRegion = cause.$response?.headers?.['x-amz-bucket-region'];
  if (bucketRegion !== undefined && bucketRegion !== region) {
    return say(
      `the bucket ${bucket} is in ${bucketRegion}, not in ${region}`,
      `Use --region ${bucketRegion}.`,
    );
  }
  if (cause.name === 'NoSuchBucket' || status === 404) {
    return say(`there is no bucket ${bucket} at ${where}`, 'Check its name, and --endpoint and --region.');
  }
  if (cause.name === 'InvalidAccessKeyId' || cause.name === 'SignatureDoesNotMatch') {
    return say(
      `${where} does not accept the credentials (${cause.name})`,
      'Check both parts of the access key.',
    );
  }
  if (cause.name === 'ExpiredToken' || cause.name === 'ExpiredTokenException') {
    return say('the credentials have expired', 'Sign in again, or set new ones.');
  }
  if (status === 403) {
    return say(
      `listing ${bucket} is not allowed with these credentials`,
      'They need s3:ListBucket on the bucket; a bucket of another account may answer the same when it is absent.',
    );
  }
  if (status === 301) {
    return say(`the bucket ${bucket} is in another region than ${region}`, 'Give its region with --region.');
  }
  return say(
    `${where} refused to list ${bucket} (${status} ${cause.name})`,
    'Check --endpoint and --region.',
  );
}
