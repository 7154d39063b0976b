import { SourceGoneError, UploadGoneError } from '../../ports/archive-store.ts';
import { MalformedAnswerError, StoreAnswerError } from '../../store/exchange.ts';

/** What the SDK adds to its errors, if it can. */
interface SdkError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Record<string, string> };
}

/**
 * What a failed call of the SDK means, in the words of the other clients of the store.
 *
 * - An answer with an error → {@link StoreAnswerError}. S3 may send one with status 200: the SDK makes that 503.
 * - An answer that cannot be read → {@link MalformedAnswerError}.
 * - Anything else, such as a failed connection, is returned unchanged.
 */
export function storeErrorOf(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { name, message, $metadata, $response }: SdkError = thrown;
  const status = $metadata?.httpStatusCode;
  if (status !== undefined && status >= 300) {
    const head = { status, headers: $response?.headers ?? {} };
    return new StoreAnswerError({ status, code: name, message, head });
  }
  const isUnreadable = status !== undefined || $response !== undefined;
  return isUnreadable ? new MalformedAnswerError(`The answer cannot be read (${name}).`) : thrown;
}

/** Whether a call failed because there is no such object. An answer to HEAD has no body, and so another name. */
export function isNoSuchKey(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown.name === 'NoSuchKey' || thrown.name === 'NotFound');
}

/** Says what is gone, if a call failed for that. @throws {SourceGoneError} */
export async function ofSource<T>(key: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    const hasChanged = cause instanceof Error && cause.name === 'PreconditionFailed';
    throw hasChanged || isNoSuchKey(cause) ? new SourceGoneError(key, { cause }) : cause;
  }
}

/** The same for an upload. @throws {UploadGoneError} */
export async function ofUpload<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    const isGone = cause instanceof Error && cause.name === 'NoSuchUpload';
    throw isGone ? new UploadGoneError('The upload was completed or aborted.', { cause }) : cause;
  }
}
