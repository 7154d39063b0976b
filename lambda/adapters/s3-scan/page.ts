import type { ListedPage } from '../../ports/object-listing.ts';
import { decodeListedKey, unescapeXml, utf8Text } from '../s3/xml.ts';

/** What the reader found in a page. The arrays may be longer than the number of keys. */
export interface PageParts {
  readonly count: number;
  readonly sizes: Float64Array;
  /** LastModified of each key, in ms; NaN if it cannot be read. undefined: nobody asked for it. */
  readonly times: Float64Array | undefined;
  /** ETag of each key, still escaped as in the page. undefined: nobody asked for it. */
  readonly etags: readonly string[] | undefined;
  /** All keys, still encoded as in the page, one after the other. */
  readonly keyBytes: Buffer;
  readonly keyEnds: Uint32Array;
  readonly totalBytes: number;
  readonly isUrlEncoded: boolean;
  readonly token: string | undefined;
}

/** A page whose keys stay bytes until they are read. */
export class ScannedPage implements ListedPage {
  readonly keyCount: number;
  readonly totalBytes: number;
  readonly isTruncated: boolean;
  readonly nextContinuationToken: string | undefined;
  readonly #parts: PageParts;

  constructor(parts: PageParts) {
    this.keyCount = parts.count;
    this.totalBytes = parts.totalBytes;
    this.isTruncated = parts.token !== undefined;
    this.nextContinuationToken = parts.token;
    this.#parts = parts;
  }

  keyAt(index: number): string {
    this.#check(index);
    const { keyBytes, keyEnds, isUrlEncoded } = this.#parts;
    const start = index === 0 ? 0 : keyEnds[index - 1];
    return decodeListedKey(utf8Text(keyBytes.subarray(start, keyEnds[index])), { isUrlEncoded });
  }

  sizeAt(index: number): number {
    this.#check(index);
    return this.#parts.sizes[index] ?? 0;
  }

  lastModifiedMsAt(index: number): number | undefined {
    this.#check(index);
    const time = this.#parts.times?.[index];
    return Number.isNaN(time) ? undefined : time;
  }

  etagAt(index: number): string {
    this.#check(index);
    return unescapeXml(this.#parts.etags?.[index] ?? '');
  }

  #check(index: number): void {
    if (index >= 0 && index < this.keyCount) return;
    throw new RangeError(`The page has ${this.keyCount} keys, but none at index ${index}.`);
  }
}
