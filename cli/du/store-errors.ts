import { MalformedAnswerError, StoreAnswerError } from '../../lambda/store/http-exchange.ts';
import { StoreRefusedError } from '../../lambda/store/object-store.ts';
import { StoreUnavailableError } from '../../lambda/store/rules/store.ts';
import { CliError, type Failure } from '../errors.ts';

interface Target {
  readonly bucket: string;
  readonly endpoint: string | undefined;
  readonly region: string;
}

interface Explanation {
  readonly message: string;
  readonly hint: string;
  readonly failure?: Failure;
}

/** Turns an error of the store into one that says what to do next. Other errors are returned as they are. */
export function explainStoreError(error: unknown, target: Target): unknown {
  if (error instanceof MalformedAnswerError) {
    return new CliError(`A page of ${storeOf(target)} cannot be read: ${error.message}`, {
      hint: 'That is a fault of the store. `lfs-quota doctor` tries what else it does.',
      cause: error,
    });
  }
  const isRefused = error instanceof StoreRefusedError;
  if (!isRefused && !(error instanceof StoreUnavailableError)) return error;
  const { message, ...rest } = isRefused ? explainRefusal(error.cause, target) : explainOutage(error, target);
  return new CliError(message, { ...rest, cause: error });
}

function explainOutage(error: Error, target: Target): Explanation {
  const { code = '' } = (error.cause ?? error) as { code?: string };
  if (['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(code)) {
    return {
      message: `Nothing answers at ${storeOf(target)} (${code}).`,
      hint: 'Check --endpoint, and whether the store is running.',
      failure: 'unavailable',
    };
  }
  const detail = error.cause instanceof Error ? `${error.message} ${error.cause.message}` : error.message;
  return {
    message: `${storeOf(target)} did not list the path: ${detail}`,
    hint: 'Try again later, or with fewer requests at a time: --concurrency 8.',
    failure: 'unavailable',
  };
}

function explainRefusal(answer: unknown, target: Target): Explanation {
  const { bucket, region } = target;
  // No request was sent: the SDK found no credentials to sign it.
  if (!(answer instanceof StoreAnswerError)) return noCredentials;
  const { status, bucketRegion } = answer;
  if (bucketRegion !== undefined && bucketRegion !== region) {
    return {
      message: `The bucket ${bucket} is in ${bucketRegion}, not in ${region}.`,
      hint: `Use --region ${bucketRegion}.`,
    };
  }
  if (answer.name === 'NoSuchBucket' || status === 404) {
    return {
      message: `There is no bucket ${bucket} at ${storeOf(target)}.`,
      hint: 'Check its name, --endpoint and --region.',
      failure: 'not-found',
    };
  }
  if (answer.name === 'InvalidAccessKeyId' || answer.name === 'SignatureDoesNotMatch') {
    return {
      message: `${storeOf(target)} rejected the credentials (${answer.name}).`,
      hint: 'Check the access key id and the secret access key.',
      failure: 'unauthorized',
    };
  }
  if (answer.name === 'ExpiredToken' || answer.name === 'ExpiredTokenException') {
    return {
      message: 'The credentials have expired.',
      hint: 'Sign in again, or set new ones.',
      failure: 'unauthorized',
    };
  }
  if (answer.name === 'RequestTimeTooSkewed') {
    return {
      message: `The clock of ${storeOf(target)} differs too much from this machine's.`,
      hint: 'Set both clocks by NTP.',
    };
  }
  if (status === 403) {
    return {
      message: `These credentials may not list ${bucket}.`,
      hint: 'They need the permission s3:ListBucket. Check the name as well: a bucket that does not exist may answer the same.',
      failure: 'unauthorized',
    };
  }
  if (status === 301) {
    return { message: `The bucket ${bucket} is not in ${region}.`, hint: 'Give its region with --region.' };
  }
  return {
    message: `${storeOf(target)} refused to list ${bucket} (${status} ${answer.name}).`,
    hint: 'Check --endpoint and --region.',
  };
}

const noCredentials: Explanation = {
  message: 'There are no credentials for the store.',
  hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or sign in with `aws sso login`.',
  failure: 'unauthorized',
};

function storeOf({ endpoint, region }: Target): string {
  return endpoint ?? `AWS (${region})`;
}
