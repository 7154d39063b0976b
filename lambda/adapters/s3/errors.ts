import { StoreUnavailableError } from '../../ports/object-store.ts';
import { AwsServiceError, isRefusal } from '../aws-sdk/service-error.ts';
import { MalformedAnswerError, StoreAnswerError } from './answers.ts';
import { isNetworkError } from './retry.ts';

/**
 * The store refused the request: bucket, region, credentials or permissions are wrong. A retry does not help.
 * Somebody has to change the configuration.
 */
export class StoreRefusedError extends Error {
  override readonly name = 'StoreRefusedError';
}

/**
 * The error to throw for a request that failed, after its retries.
 *
 * - No answer, 5xx, throttling, an answer that cannot be the truth, a time limit → {@link StoreUnavailableError}.
 * - Any other 3xx or 4xx, or no credentials → {@link StoreRefusedError}.
 * - Anything else is a bug, and is returned unchanged.
 *
 * @param request for the message: `HEAD`, `LIST`, `DELETE`.
 */
export function translateStoreError(cause: unknown, request: string): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.name === 'CredentialsProviderError') {
    return new StoreRefusedError(`There are no credentials for the store (${request}): ${cause.message}`, {
      cause,
    });
  }
  const status = statusOf(cause);
  if (status === undefined) {
    if (!isNetworkError(cause) && !(cause instanceof MalformedAnswerError)) return cause;
    return new StoreUnavailableError(`The store did not serve ${request} (${cause.name}).`, { cause });
  }
  if (isRefusal({ status, name: cause.name })) {
    return new StoreRefusedError(
      `The store refused ${request} with ${status} ${cause.name}: ` +
        'check the bucket name, the region, the credentials and their permissions (ListBucket included).',
      { cause },
    );
  }
  return new StoreUnavailableError(`The store did not serve ${request} (${status} ${cause.name}).`, {
    cause,
  });
}

/**
 * The status of the answer, if there was one: the store's, that of Secrets Manager to the request for the credentials,
 * or that of the SDK's request for them.
 */
function statusOf(error: Error): number | undefined {
  if (error instanceof StoreAnswerError || error instanceof AwsServiceError) return error.status;
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}
