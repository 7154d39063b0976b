import type { ListedPage } from '../../ports/object-listing.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';

/**
 * The pages of a range that continues by tokens. Each page must lead further: in a listing that comes back to where it
 * was, keys would be counted twice, or the scan would never end.
 *
 * It needs little memory, so not every way back is detected at once. A cycle of tokens always is, after at most a few
 * rounds.
 */
export class PageTrail {
  /** The last page that had keys. */
  #previous: ListedPage | undefined;
  // Brent's algorithm: a token is marked, then one twice as many pages later, and so on. A cycle returns to a mark.
  #mark: string | undefined;
  #pagesSinceMark = 0;
  #pagesToMark = 1;

  /**
   * Notes the next page.
   *
   * @param requestedToken the token by which it was requested.
   * @throws {StoreUnavailableError} if it leads back.
   */
  follow(page: ListedPage, requestedToken: string | undefined): void {
    const { nextContinuationToken: token, keyCount } = page;
    if (token !== undefined && (token === requestedToken || token === this.#mark)) {
      throw new StoreUnavailableError(
        'The listing of the store goes in a circle: it repeats a continuation token.',
      );
    }
    if (token !== undefined) this.#count(token);
    if (keyCount === 0) return;
    if (this.#previous && hasKey(this.#previous, page.keyAt(0))) {
      throw new StoreUnavailableError(
        'The listing of the store goes back: it has the same key on two pages in a row.',
      );
    }
    this.#previous = page;
  }

  #count(token: string): void {
    this.#pagesSinceMark += 1;
    if (this.#pagesSinceMark < this.#pagesToMark) return;
    this.#mark = token;
    this.#pagesSinceMark = 0;
    this.#pagesToMark *= 2;
  }
}

function hasKey(page: ListedPage, key: string): boolean {
  for (let index = 0; index < page.keyCount; index += 1) if (page.keyAt(index) === key) return true;
  return false;
}
