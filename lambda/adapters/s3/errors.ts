import { StoreUnavailableError } from '../../ports/object-store.ts';

/**
 * The store answered, and refused: bucket, region, credentials or permissions are not what it wants. Asking
 * again does not help; somebody has to change the configuration.
 */
export class StoreRefusedError extends Error {
  override readonly name = 'StoreRefusedError';
}

/** Statuses and names of 4xx answers that say "later", not "never". */
const transientStatuses: ReadonlySet<number> = new Set([408, 425, 429]);
const transientNames: ReadonlySet<string> = new Set(['RequestTimeout', 'SlowDown', 'OperationAborted']);

/**
 * What to throw for an error of the SDK, which has retried by then.
 *
 * - No answer, 5xx, throttling, a body that does not parse, a time limit → {@link StoreUnavailableError}.
 * - Any other 3xx or 4xx, or no credentials → {@link StoreRefusedError}.
 * - Anything else is a bug and comes back as it is.
 *
 * @param request what was asked, for the message: `HEAD`, `LIST`, `DELETE`.
 */
export function translateStoreError(cause: unknown, request: string): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.name === 'CredentialsProviderError') {
    return new StoreRefusedError(`No credentials for the store (${request}): ${cause.message}`, { cause });
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

/** The HTTP status of the answer, where there was one; the SDK notes it in one of two places. */
function statusOf(error: Error): number | undefined {
  const { $metadata, $response } = error as {
    $metadata?: { httpStatusCode?: number };
    $response?: { statusCode?: number };
  };
  return $metadata?.httpStatusCode ?? $response?.statusCode;
}

/** Errors of sockets carry a system code (`ECONNREFUSED`); time limits and aborts are known by name. */
function isNetworkError(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return (
    (typeof code === 'string' && !code.startsWith('ERR_')) ||
    error.name === 'TimeoutError' ||
    error.name === 'AbortError'
  );
}
