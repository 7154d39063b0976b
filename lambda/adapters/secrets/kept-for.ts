import { AwsServiceError, isRefusal } from '../aws-sdk/service-error.ts';

/** How long a value is used that cannot be read again, by an error that may pass. */
const keepThroughErrorsMs = 60 * 60_000;
/** Until such a read is repeated. Its callers wait for it, so one in a minute is slow. */
const retryAfterMs = 60_000;

/**
 * A reader that fetches once, and then answers from memory for `keepMs`. Callers at the same time share one fetch. If
 * the value cannot be fetched again for now, the old one is used for up to an hour. Any other failure is the callers',
 * and the next caller fetches again.
 */
export function keptFor<T>(
  fetchValue: () => Promise<T>,
  options: { keepMs: number; nowMs: () => number },
): () => Promise<T> {
  let kept: { readonly value: T; readonly fetchedAtMs: number } | undefined;
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  let fetching: Promise<T> | undefined;
  const fetchAgain = async (nowMs: number): Promise<T> => {
    try {
      const value = await fetchValue();
      kept = { value, fetchedAtMs: nowMs };
      freshUntilMs = nowMs + options.keepMs;
      return value;
    } catch (error) {
      const failedAtMs = options.nowMs();
      if (kept === undefined || !mayPass(error) || failedAtMs - kept.fetchedAtMs > keepThroughErrorsMs)
        throw error;
      freshUntilMs = failedAtMs + retryAfterMs;
      return kept.value;
    } finally {
      fetching = undefined;
    }
  };
  return async () => {
    const nowMs = options.nowMs();
    if (kept !== undefined && nowMs <= freshUntilMs) return kept.value;
    fetching ??= fetchAgain(nowMs);
    return await fetching;
  };
}

/** The service did not answer, was throttled or failed: nobody has to change something. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof AwsServiceError)) return false;
  return error.status === undefined || !isRefusal({ status: error.status, name: error.code });
}
