/** All items of a paged read, in one array. */
export async function allPages<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

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
  await forEachLimited(items.entries(), Math.min(limit, items.length), async ([index, item]) => {
    results[index] = await map(item);
  });
  return results;
}

/** The same without results, over items that are made one by one: only `limit` of them exist at a time. */
export async function forEachLimited<T>(
  items: Iterable<T>,
  limit: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let isFailed = false;
  const worker = async () => {
    for (;;) {
      if (isFailed) return;
      const next = iterator.next();
      if (next.done === true) return;
      try {
        await run(next.value);
      } catch (error) {
        isFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
