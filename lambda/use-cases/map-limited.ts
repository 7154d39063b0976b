/**
 * Maps over items, at most `limit` at a time. Results are in the order of the items. After the first rejection no other
 * item is started, and the whole is rejected.
 */
export async function mapLimited<T, R>(
  items: readonly T[],
  limit: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const entries = items.entries();
  let isFailed = false;
  const worker = async () => {
    for (const [index, item] of entries) {
      if (isFailed) return;
      try {
        results[index] = await map(item);
      } catch (error) {
        isFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
