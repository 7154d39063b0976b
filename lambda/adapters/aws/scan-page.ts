import type { ListedPage } from '../../ports/object-listing.ts';
import { decodeListedKey } from './scan-xml.ts';

/** What the reader found in a page's bytes. */
export interface PageParts {
  readonly body: Buffer;
  /** Where each key's text begins. */
  readonly keyStarts: Uint32Array;
  readonly sizes: Float64Array;
  readonly totalBytes: number;
  readonly isUrlEncoded: boolean;
  readonly nextContinuationToken: string | undefined;
}

/** A page whose keys stay as bytes until they are asked for. */
export class ScannedPage implements ListedPage {
  readonly keyCount: number;
  readonly totalBytes: number;
  readonly isTruncated: boolean;
  readonly nextContinuationToken: string | undefined;
  readonly #parts: PageParts;

  constructor(parts: PageParts) {
    this.keyCount = parts.sizes.length;
    this.totalBytes = parts.totalBytes;
    this.isTruncated = parts.nextContinuationToken !== undefined;
    this.nextContinuationToken = parts.nextContinuationToken;
    this.#parts = parts;
  }

  keyAt(index: number): string {
    const { body, keyStarts, isUrlEncoded } = this.#parts;
    const start = keyStarts[index];
    if (start === undefined) throw new RangeError(`The page has ${this.keyCount} keys, none at ${index}.`);
    return decodeListedKey(body.toString('utf8', start, body.indexOf('<', start)), { isUrlEncoded });
  }

  sizeAt(index: number): number {
    const size = this.#parts.sizes[index];
    if (size === undefined) throw new RangeError(`The page has ${this.keyCount} keys, none at ${index}.`);
    return size;
  }
}
