import type { ListedPage } from '../../ports/object-listing.ts';

/** Some of the keys of a page that the store listed. */
export interface PagePart {
  readonly page: ListedPage;
  /** Which keys of the page, in order. undefined: the first `keyCount`. */
  readonly indexes: readonly number[] | undefined;
  readonly keyCount: number;
  /** The key of what is stored under one. */
  readonly keyOf: (storedKey: string) => string;
}

/** The key of a part's i-th object. */
function keyOfPart({ page, indexes, keyOf }: PagePart, index: number): string {
  return keyOf(page.keyAt(indexes === undefined ? index : at(indexes, index)));
}

/** Parts of pages, one after the other, as one page. */
export class JoinedPage implements ListedPage {
  readonly keyCount: number;
  readonly totalBytes: number;
  readonly isTruncated: boolean;
  readonly nextContinuationToken: string | undefined;
  readonly #parts: readonly PagePart[];

  /**
   * @param parts in the order of their keys.
   * @param end.tokenAfter makes the token that goes on after a key. A page after which others follow has keys.
   */
  constructor(
    parts: readonly PagePart[],
    end: { isTruncated: boolean; tokenAfter: (lastKey: string) => string },
  ) {
    this.#parts = parts;
    this.keyCount = parts.reduce((sum, { keyCount }) => sum + keyCount, 0);
    this.totalBytes = parts.reduce((sum, part) => sum + bytesOf(part), 0);
    this.isTruncated = end.isTruncated;
    this.nextContinuationToken = end.isTruncated ? end.tokenAfter(this.keyAt(this.keyCount - 1)) : undefined;
  }

  keyAt(index: number): string {
    const found = this.#find(index);
    return keyOfPart(found.part, found.index);
  }

  sizeAt(index: number): number {
    const { page, pageIndex } = this.#find(index);
    return page.sizeAt(pageIndex);
  }

  lastModifiedMsAt(index: number): number | undefined {
    const { page, pageIndex } = this.#find(index);
    return page.lastModifiedMsAt(pageIndex);
  }

  etagAt(index: number): string {
    const { page, pageIndex } = this.#find(index);
    return page.etagAt(pageIndex);
  }

  #find(index: number) {
    let left = index;
    for (const part of this.#parts) {
      if (left < part.keyCount) {
        const { page, indexes } = part;
        return { part, index: left, page, pageIndex: indexes === undefined ? left : at(indexes, left) };
      }
      left -= part.keyCount;
    }
    throw new RangeError(`The page has ${this.keyCount} keys, none at ${index}.`);
  }
}

function bytesOf({ page, indexes, keyCount }: PagePart): number {
  if (indexes === undefined && keyCount === page.keyCount) return page.totalBytes;
  let bytes = 0;
  for (let index = 0; index < keyCount; index += 1)
    bytes += page.sizeAt(indexes === undefined ? index : at(indexes, index));
  return bytes;
}

function at(indexes: readonly number[], index: number): number {
  const found = indexes[index];
  if (found === undefined) throw new RangeError(`The page has ${indexes.length} keys, none at ${index}.`);
  return found;
}
