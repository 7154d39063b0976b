/**
 * A reader that fetches once, and then answers from memory for `keepMs`. Callers at the same time share one fetch. A
 * failure is not kept: the next caller fetches again.
 */
export function keptFor<T>(
  fetchValue: () => Promise<T>,
  options: { keepMs: number; nowMs: () => number },
): () => Promise<T> {
  let kept: { value: Promise<T>; fetchedAtMs: number } | undefined;
  return async () => {
    const nowMs = options.nowMs();
    if (kept === undefined || nowMs - kept.fetchedAtMs > options.keepMs) {
      const fetched = { value: fetchValue(), fetchedAtMs: nowMs };
      kept = fetched;
      fetched.value.catch(() => {
        if (kept === fetched) kept = undefined;
      });
    }
    return await kept.value;
  };
}
