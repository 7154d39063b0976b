import { compareKeys } from '../rules/names.ts';
import { JoinedPage } from '../store/adopted-listing.ts';
import { BrokenListingError, type ListedPage, UnorderedListingError } from '../store/rules/store.ts';
import { decodeListedKey } from './parse-list-answer.ts';
import type { CountedPart } from './rules/scan-plan.ts';
import type { ListedNames, PageResult, PageTask } from './rules/uneven-ranges.ts';

/** Of 64 digits, a name takes about 200 bytes. */
const namesMax = 100_000;

interface RecentNamesInput {
  /** The prefix of all keys. A name is what follows it. */
  readonly prefix: string;
  readonly sinceMs: number;
  /** Names that are kept, at most. */
  readonly max?: number | undefined;
}

/** The names of the keys that were stored at a time or later, or of which the store does not say when. */
export class RecentNames {
  readonly #input: RecentNamesInput;
  #names: Set<string> | 'too many';

  /** @param before what an earlier part of the same scan found. */
  constructor(input: RecentNamesInput, before: readonly string[] | 'too many' = []) {
    this.#input = input;
    this.#names = before === 'too many' ? before : new Set(before);
    this.#limit();
  }

  /** @param keyCount how many of the page's keys to look at. */
  add(page: ListedPage, keyCount: number): void {
    const { prefix, sinceMs } = this.#input;
    for (let index = 0; index < keyCount && this.#names !== 'too many'; index += 1) {
      const storedAtMs = page.lastModifiedMsAt(index) ?? Number.POSITIVE_INFINITY;
      if (storedAtMs < sinceMs) continue;
      this.#names.add(page.keyAt(index).slice(prefix.length));
      this.#limit();
    }
  }

  get names(): ReadonlySet<string> | 'too many' {
    return this.#names;
  }

  #limit(): void {
    const { max = namesMax } = this.#input;
    if (this.#names !== 'too many' && this.#names.size > max) this.#names = 'too many';
  }
}

/** What a page tells about the range that it was requested for. */
export interface RangePage extends PageResult {
  /** Bytes of the keys that are in the range. */
  readonly sizeBytes: number;
}

/**
 * Counts the keys of a page that are in its range. A request has a beginning but no end, so the page may go beyond it.
 *
 * @param context.prefix the prefix of all keys. A name is what follows it.
 * @throws {UnorderedListingError} if the store does not list in order, from where it was asked to.
 */
export function readPage(task: PageTask, page: ListedPage, context: { prefix: string }): RangePage {
  const { after, last } = task.range;
  const { keyCount } = page;
  const { prefix } = context;
  if (keyCount === 0) return { keyCount, sizeBytes: 0, rest: undefined };
  const firstName = nameOf(page, 0, prefix);
  const lastName = nameOf(page, keyCount - 1, prefix);
  const isAfter = after === null || compareKeys(firstName, after) > 0;
  if (!isAfter || page.isInOrder === false) throw new UnorderedListingError(unordered);
  if (last !== null && compareKeys(lastName, last) > 0) {
    const inRange = countUpTo(page, prefix + last);
    let sizeBytes = 0;
    for (let index = 0; index < inRange; index += 1) sizeBytes += page.sizeAt(index);
    return {
      keyCount: inRange,
      sizeBytes,
      rest: undefined,
      names: namesOf(page, { prefix, count: inRange }),
    };
  }
  const isDone = !page.isTruncated || lastName === last;
  const rest = isDone ? undefined : { ...task.range, after: lastName };
  const names = namesOf(page, { prefix, count: keyCount });
  return { keyCount, sizeBytes: page.totalBytes, rest, folder: commonFolder(firstName, lastName), names };
}

/**
 * The keys of a range on a page of a store that lists in an order of its own. Its pages come from the first to the last,
 * by their tokens.
 *
 * @param indexes of the keys that no page before had.
 * @throws {BrokenListingError} for a key that can't have the prefix, however the store encodes it.
 */
export function pickInAnyOrder(
  { range: { after, last } }: PageTask,
  page: ListedPage,
  { prefix, indexes }: { prefix: string; indexes: readonly number[] },
): ListedPage {
  const isIn = (index: number) => {
    const text = textOf(page, index);
    if (!text.startsWith(prefix) && !decodeListedKey(text, { isUrlEncoded: true }).startsWith(prefix))
      throw new BrokenListingError(noPrefix);
    if (after === null && last === null) return true;
    const name = nameOf(page, index, prefix);
    return (
      (after === null || compareKeys(name, after) > 0) && (last === null || compareKeys(name, last) <= 0)
    );
  };
  const picked = indexes.filter(isIn);
  return picked.length === page.keyCount ? page : pick(page, picked);
}

/** Some keys of a page, as a page. */
function pick(page: ListedPage, indexes: readonly number[]): ListedPage {
  return new JoinedPage([{ page, indexes, keyOf: (key) => key }], undefined);
}

/** What is counted of a page, in parts whose bytes a number can tell. */
export function* exactParts(part: CountedPart): Generator<CountedPart> {
  if (Number.isSafeInteger(part.sizeBytes)) return yield part;
  for (let index = 0; index < part.keyCount; index += 1) {
    const page = pick(part.page, [index]);
    yield { ...part, page, keyCount: 1, sizeBytes: page.totalBytes };
  }
}

/** The first key of a page that comes after one. null: there is none in the listing. undefined: none on the page. */
export function firstBehind(page: ListedPage, key: string): string | null | undefined {
  const index = countUpTo(page, key);
  return index < page.keyCount ? page.keyAt(index) : page.isTruncated ? undefined : null;
}

/**
 * Adds up what a scan finds that was stored before a time, if it gets the options. What the store tells no time of is no
 * older.
 */
export function addingOld(beforeMs: number) {
  const found = { bytes: 0, oldBytes: 0 };
  const onPart = ({ page, keyCount, sizeBytes }: CountedPart) => {
    found.bytes += sizeBytes;
    if (!Number.isSafeInteger(found.bytes)) throw new RangeError('More than 2^53 − 1 bytes are stored.');
    for (let index = 0; index < keyCount; index += 1)
      if ((page.lastModifiedMsAt(index) ?? beforeMs) < beforeMs) found.oldBytes += page.sizeAt(index);
  };
  const onRestart = () => Object.assign(found, { bytes: 0, oldBytes: 0 });
  return { found, options: { reads: { readsTimes: true }, onPart, onRestart } };
}

/**
 * Finds which of some names a page lists. It uses binary search, so most keys are never decoded.
 *
 * @param sortedNames in the order of keys, each once.
 * @param context.keyCount how many of the page's keys to search.
 * @returns the names with their bytes.
 */
export function seenOnPage(
  sortedNames: readonly string[],
  page: ListedPage,
  context: { prefix: string; keyCount: number },
): [name: string, sizeBytes: number][] {
  const { prefix, keyCount } = context;
  if (keyCount === 0 || sortedNames.length === 0) return [];
  const firstName = nameOf(page, 0, prefix);
  const lastName = nameOf(page, keyCount - 1, prefix);
  const start = lowerBound(
    sortedNames.length,
    (index) => compareKeys(at(sortedNames, index), firstName) >= 0,
  );
  const seen: [string, number][] = [];
  let from = 0;
  for (let index = start; index < sortedNames.length; index += 1) {
    const name = at(sortedNames, index);
    if (compareKeys(name, lastName) > 0) break;
    const key = prefix + name;
    from += lowerBound(keyCount - from, (offset) => compareKeys(page.keyAt(from + offset), key) >= 0);
    if (from < keyCount && page.keyAt(from) === key) seen.push([name, page.sizeAt(from)]);
  }
  return seen;
}

/**
 * Finds which of some names a page lists, in whatever order it lists them.
 *
 * @param context.keyCount keys of the page that belong to the range.
 * @returns the names with their bytes.
 */
export function seenInAnyOrder(
  names: ReadonlySet<string> | 'everything' | undefined,
  page: ListedPage,
  { prefix, keyCount }: { prefix: string; keyCount: number },
): [name: string, sizeBytes: number][] {
  if (names === undefined || (names !== 'everything' && names.size === 0)) return [];
  const listed = Array.from({ length: keyCount }, (_, index): [string, number] => {
    return [nameOf(page, index, prefix), page.sizeAt(index)];
  });
  return names === 'everything' ? listed : listed.filter(([name]) => names.has(name));
}

/** The deepest folder that contains both names, with its slash. Empty if there is none. */
function commonFolder(a: string, b: string): string {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same += 1;
  return a.slice(0, a.slice(0, same).lastIndexOf('/') + 1);
}

export const unordered = "The store doesn't list keys in order after a given key, as S3 does.";
const noPrefix = 'The store listed a key without the requested prefix.';

/** A key as the store wrote it. */
export const textOf = (page: ListedPage, index: number): string => page.textAt?.(index) ?? page.keyAt(index);

function namesOf(page: ListedPage, { prefix, count }: { prefix: string; count: number }): ListedNames {
  return { count, at: (index) => nameOf(page, index, prefix) };
}

function nameOf(page: ListedPage, index: number, prefix: string): string {
  const key = page.keyAt(index);
  if (!key.startsWith(prefix)) throw new UnorderedListingError(noPrefix);
  return key.slice(prefix.length);
}

/** How many keys of the page are not after `lastKey`. */
function countUpTo(page: ListedPage, lastKey: string): number {
  return lowerBound(page.keyCount, (index) => compareKeys(page.keyAt(index), lastKey) > 0);
}

/** The first index for which `holds` is true. It must then be true for all later ones. `count` if there is none. */
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
  if (name === undefined) throw new RangeError(`The index ${index} is beyond the ${names.length} names.`);
  return name;
}
