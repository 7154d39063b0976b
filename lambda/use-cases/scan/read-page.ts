import { compareKeys } from '../../domain/key-order.ts';
import type { OpenRange, PageTask } from '../../domain/scan/scan-plan.ts';
import type { ListedPage } from '../../ports/object-listing.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';

/** What a page says of the range that it was asked for. */
export interface RangePage {
  readonly keyCount: number;
  readonly sizeBytes: number;
  /** What of the range is still to be listed. */
  readonly rest: OpenRange | undefined;
  /** The folder that all keys of the page lie in. */
  readonly folder?: string;
}

/**
 * Counts those keys of a page that lie in its range: a request has a beginning, but no end.
 *
 * @param context.prefix what all keys begin with. Names are what follows it.
 * @throws {StoreUnavailableError} where the store does not list in order from where it was asked to.
 */
export function readPage(task: PageTask, page: ListedPage, context: { prefix: string }): RangePage {
  const { after, last } = task.range;
  const { keyCount } = page;
  const { prefix } = context;
  const tokenOf = () => {
    if (page.nextContinuationToken !== undefined) return page.nextContinuationToken;
    throw new StoreUnavailableError('The store said that keys follow, but not where.');
  };
  if (keyCount === 0) {
    if (!page.isTruncated) return { keyCount, sizeBytes: 0, rest: undefined };
    const continuationToken = tokenOf();
    if (continuationToken === task.range.continuationToken) {
      throw new StoreUnavailableError('The store answers with the same empty page again and again.');
    }
    return { keyCount, sizeBytes: 0, rest: { ...task.range, continuationToken } };
  }
  const firstName = nameOf(page, 0, prefix);
  const lastName = nameOf(page, keyCount - 1, prefix);
  checkOrder({ after, firstName, lastName });
  if (last !== null && lastName > last) {
    const inRange = countUpTo(page, prefix + last);
    let sizeBytes = 0;
    for (let index = 0; index < inRange; index += 1) sizeBytes += page.sizeAt(index);
    return { keyCount: inRange, sizeBytes, rest: undefined };
  }
  const isDone = !page.isTruncated || lastName === last;
  // Not its continuation token: from here on the last key is the mark.
  const { continuationToken: _, ...range } = task.range;
  const rest = isDone ? undefined : { ...range, after: lastName };
  return { keyCount, sizeBytes: page.totalBytes, rest, folder: commonFolder(firstName, lastName) };
}

/**
 * A page of a store whose order is its own, listed from its first page to its last by continuation tokens.
 */
export function readPageInAnyOrder(task: PageTask, page: ListedPage): RangePage {
  const { keyCount, totalBytes, nextContinuationToken: continuationToken } = page;
  if (!page.isTruncated) return { keyCount, sizeBytes: totalBytes, rest: undefined };
  if (continuationToken === undefined || continuationToken === task.range.continuationToken) {
    throw new StoreUnavailableError('The store said that keys follow, but not where.');
  }
  return { keyCount, sizeBytes: totalBytes, rest: { ...task.range, continuationToken } };
}

/**
 * Which of the names looked for a page lists, by binary search: most keys are never decoded.
 *
 * @param sortedNames in the order of keys, without repetition.
 * @param keyCount how many of the page's keys to look at.
 */
export function seenOnPage(
  sortedNames: readonly string[],
  page: ListedPage,
  context: { prefix: string; keyCount: number },
): string[] {
  const { prefix, keyCount } = context;
  if (keyCount === 0 || sortedNames.length === 0) return [];
  const firstName = nameOf(page, 0, prefix);
  const lastName = nameOf(page, keyCount - 1, prefix);
  const start = lowerBound(
    sortedNames.length,
    (index) => compareKeys(at(sortedNames, index), firstName) >= 0,
  );
  const seen: string[] = [];
  let from = 0;
  for (let index = start; index < sortedNames.length; index += 1) {
    const name = at(sortedNames, index);
    if (compareKeys(name, lastName) > 0) break;
    const key = prefix + name;
    from += lowerBound(keyCount - from, (offset) => compareKeys(page.keyAt(from + offset), key) >= 0);
    if (from < keyCount && page.keyAt(from) === key) seen.push(name);
  }
  return seen;
}

/** Which of the names looked for a page lists, whatever its order. */
export function seenInAnyOrder(
  names: ReadonlySet<string> | undefined,
  page: ListedPage,
  { prefix }: { prefix: string },
): string[] {
  if (names === undefined || names.size === 0) return [];
  const listed = Array.from({ length: page.keyCount }, (_, index) => nameOf(page, index, prefix));
  return listed.filter((name) => names.has(name));
}

/** What two names have in common, up to and with the last slash; empty where they have no folder in common. */
function commonFolder(a: string, b: string): string {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same += 1;
  return a.slice(0, a.slice(0, same).lastIndexOf('/') + 1);
}

/** A store that ignores StartAfter, or lists in an order of its own, would have keys counted twice. */
function checkOrder(page: { after: string | null; firstName: string; lastName: string }): void {
  const { after, firstName, lastName } = page;
  const isAfter = after === null || compareKeys(firstName, after) > 0;
  if (isAfter && compareKeys(firstName, lastName) <= 0) return;
  throw new StoreUnavailableError(
    'The store does not list keys in order after a given key, as S3 does; scan it with the strategy `sequential`.',
  );
}

function nameOf(page: ListedPage, index: number, prefix: string): string {
  const key = page.keyAt(index);
  if (!key.startsWith(prefix)) throw new StoreUnavailableError('The store listed a key beside the prefix.');
  return key.slice(prefix.length);
}

/** How many keys of the page are not after `lastKey`. Range ends are ASCII, so any order has them alike. */
function countUpTo(page: ListedPage, lastKey: string): number {
  return lowerBound(page.keyCount, (index) => page.keyAt(index) > lastKey);
}

/** The first index that holds, where all after it hold too; `count` where none does. */
function lowerBound(count: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function at(names: readonly string[], index: number): string {
  const name = names[index];
  if (name === undefined) throw new RangeError(`There are ${names.length} names, none at ${index}.`);
  return name;
}
