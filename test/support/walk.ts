/**
 * The pages of a list, each read from where the one before ended.
 *
 * @param read reads a page from a cursor on, or the first one; gives what is on it, and the next cursor or null.
 */
export async function walk<Item, Cursor>(
  read: (after: Cursor | undefined) => Promise<readonly [items: readonly Item[], next: Cursor | null]>,
): Promise<(readonly Item[])[]> {
  const pages: (readonly Item[])[] = [];
  let next: Cursor | undefined;
  do {
    if (pages.length > 10_000) throw new Error('The list has no end.');
    const [items, after] = await read(next);
    pages.push(items);
    next = after ?? undefined;
  } while (next !== undefined);
  return pages;
}
