import { StoreUnavailableError } from '../../ports/object-store.ts';

/**
 * The store refused the request: bucket, region, credentials or permissions are wrong. A retry does not help.
 * Somebody has to change the configuration.
 */
export class StoreRefusedError extends Error {
  override readonly name = 'StoreRefusedError';
}

/** Statuses and error names of 4xx answers for which a retry may help. */
const transientStatuses: ReadonlySet<number> = new Set([408, 425, 429]);
const transientNames: ReadonlySet<string> = new Set(['RequestTimeout', 'SlowDown', 'OperationAborted']);

/**
 * The error to throw for an error that the SDK threw after its retries.
 *
 * - No answer, 5xx, throttling, a body that does not parse, a time limit → {@link StoreUnavailableError}.
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
  if (status !== undefined && status >= 300 && status < 500 && !isTransient(cause, status)) {
    return new StoreRefusedError(
      `The store refused ${request} with ${status} ${cause.name}: ` +
        'check the bucket name, the region, the credentials and their permissions (ListBucket included).',
      { cause },
    );
  }
  if (status === undefined && !isNetworkError(cause)) return cause;
  const reason = status === undefined ? cause.name : `${status} ${cause.name}`;
  return new StoreUnavailableError(`The store did not serve ${request} (${reason}).`, { cause });
}

function isTransient(error: Error, status: number): boolean {
  return transientStatuses.has(status) || transientNames.has(error.name);
}

/** The HTTP status of the answer, if there was one. The SDK puts it in one of two places. */
function statusOf(error: Error): number | undefined {
  const { $metadata, $response } = error as {
    $metadata?: { httpStatusCode?: number };
    $response?: { statusCode?: number };
  };
  return $metadata?.httpStatusCode ?? $response?.statusCode;
}

/** Socket errors have a system code (`ECONNREFUSED`). Timeouts and aborts are recognized by name. */
function isNetworkError(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return (
    (typeof code === 'string' && !code.startsWith('ERR_')) ||
    error.name === 'TimeoutError' ||
    error.name === 'AbortError'
  );
}
