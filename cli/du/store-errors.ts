import { isWithoutTls, lastingStatuses } from '../../lambda/core/store/bucket-client.ts';
import { MalformedAnswerError, StoreAnswerError } from '../../lambda/core/store/http-exchange.ts';
import {
  BrokenListingError,
  StoreRefusedError,
  StoreUnavailableError,
} from '../../lambda/core/store/rules/store.ts';
import { CliError, type Failure } from '../errors.ts';

export interface StoreTarget {
  readonly bucket: string;
  /** Undefined: AWS. */
  readonly endpoint: string | undefined;
  /** Sets it. Omitted: `--endpoint`. */
  readonly endpointOption?: string;
  readonly region: string;
  /** An option that sends fewer requests at a time. Omitted: the command has none. */
  readonly slower?: string;
  /** What the credentials need. Omitted: to list objects. */
  readonly permission?: string;
}

const checkIt = ({ endpointOption = '--endpoint' }: StoreTarget) =>
  `Check ${endpointOption}, and the store: lfs-quota doctor`;

type Explanation = readonly [message: string, hint: string, failure?: Failure];

/** Turns an error of the store into one that says what to do next. Other errors are returned as they are. */
export function explainStoreError(error: unknown, target: StoreTarget): unknown {
  if (error instanceof MalformedAnswerError) {
    const message = `A page of ${storeOf(target)} can't be read: ${error.message}`;
    return new CliError(message, { hint: checkIt(target), cause: error });
  }
  const isRefused = error instanceof StoreRefusedError;
  if (!isRefused && !(error instanceof StoreUnavailableError)) return error;
  const [message, hint, failure] =
    explainBroken(error, target) ??
    (isRefused ? explainRefusal(error.cause, target) : explainOutage(error, target));
  return new CliError(message, { hint, ...(failure && { failure }), cause: error });
}

function explainBroken(error: Error, target: StoreTarget): Explanation | undefined {
  const { cause } = error;
  const isLasting = cause instanceof StoreAnswerError && lastingStatuses.has(cause.status);
  if (!isLasting && !(error instanceof BrokenListingError)) return undefined;
  const why = isLasting ? `${cause.status} ${cause.name}` : error.message;
  const hint = target.permission ? 'If the store has no versions, leave out --all.' : checkIt(target);
  return [`${storeOf(target)} can't list the path: ${why}`, hint];
}

function explainOutage(error: Error, target: StoreTarget): Explanation {
  const { endpointOption = '--endpoint', slower } = target;
  const { code = '' } = (error.cause ?? error) as { code?: string };
  if (['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(code)) {
    const hint = `Check ${endpointOption}, and whether the store is running.`;
    return [`Can't reach ${storeOf(target)} (${code}).`, hint, 'unavailable'];
  }
  if (isWithoutTls(error.cause))
    return [`${storeOf(target)} doesn't speak TLS.`, `Without TLS, ${endpointOption} starts with http://.`];
  const detail = error.cause instanceof Error ? `${error.message} ${error.cause.message}` : error.message;
  const hint = slower ? `Retry later, or with fewer concurrent requests: ${slower}.` : 'Retry later.';
  return [`${storeOf(target)} didn't list the path: ${detail}`, hint, 'unavailable'];
}

function explainRefusal(answer: unknown, target: StoreTarget): Explanation {
  const { bucket, endpointOption = '--endpoint', region, permission = 's3:ListBucket' } = target;
  const store = storeOf(target);
  // No request was sent: the SDK found no credentials to sign it.
  if (!(answer instanceof StoreAnswerError)) {
    const hint = 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run: aws sso login.';
    return ['No credentials for the store.', hint, 'unauthorized'];
  }
  const { status, bucketRegion, name } = answer;
  if (bucketRegion !== undefined && bucketRegion !== region)
    return [`The bucket ${bucket} is in ${bucketRegion}, not in ${region}.`, `Use --region ${bucketRegion}.`];
  if (name === 'NoSuchBucket' || status === 404) {
    const hint = `Check its name, ${endpointOption} and --region.`;
    return [`Bucket ${bucket} not found at ${store}.`, hint, 'not-found'];
  }
  if (name === 'InvalidAccessKeyId' || name === 'SignatureDoesNotMatch') {
    const hint = 'Check the access key id and the secret access key.';
    return [`${store} rejected the credentials (${name}).`, hint, 'unauthorized'];
  }
  if (name === 'ExpiredToken' || name === 'ExpiredTokenException')
    return ['The credentials have expired.', 'Sign in again, or set new ones.', 'unauthorized'];
  if (name === 'RequestTimeTooSkewed')
    return [`The clock of ${store} differs too much from this machine's.`, 'Sync both clocks by NTP.'];
  if (status === 403) {
    const hint = `They need ${permission}. Check the name too: a missing bucket can look the same.`;
    return [`These credentials can't list ${bucket}.`, hint, 'unauthorized'];
  }
  if (status === 301) return [`The bucket ${bucket} isn't in ${region}.`, 'Pass its region with --region.'];
  return [
    `${store} rejected the listing of ${bucket} (${status} ${name}).`,
    `Check ${endpointOption} and --region.`,
  ];
}

function storeOf({ endpoint, region }: StoreTarget): string {
  return endpoint ?? `AWS (${region})`;
}
