import { sha256Hex } from '../rules/hash.ts';
import { BrokenListingError, emptyPagesMax, endlessError, type ListedPage } from '../store/rules/store.ts';
import { textOf } from './page-in-range.ts';

/** Keys that are remembered are this many to twice as many. Each takes about 100 bytes. */
const keysRemembered = 50_000;
/** 64 bits of a key's hash: two of so many keys have the same with a probability below 1 in 10⁹. */
const digestLength = 16;

/**
 * The pages of a range that continues by tokens. They must lead further: in a listing that comes back to where it was, the
 * scan would never end.
 *
 * It needs little memory, so not every way back is detected at once. A cycle of tokens always is, after at most a few
 * rounds.
 */
export class PageTrail {
  readonly #prefix: string;
  #latest: Set<string>;
  #earlier = new Set<string>();
  #hasForgotten = false;
  #hasRepeated = false;
  /** Pages in a row without a new key. */
  #idlePages = 0;
  // Brent's algorithm: a token is marked, then one twice as many pages later, and so on. A cycle returns to a mark.
  #mark: string | undefined;
  #pagesSinceMark = 0;
  #pagesToMark = 1;

  /** @param listed what an earlier trail of the same listing remembered. */
  constructor(prefix: string, listed: readonly string[] = []) {
    this.#prefix = prefix;
    this.#latest = new Set(listed);
  }

  /** What it remembers of the keys. */
  get listed(): readonly string[] {
    return [...this.#earlier, ...this.#latest];
  }

  /** Keys were listed again, on pages that lie together. */
  get hasRepeated(): boolean {
    return this.#hasRepeated;
  }

  /**
   * Notes the next page.
   *
   * @param requestedToken the token by which it was requested.
   * @returns the indexes of its keys that no page had before.
   * @throws {BrokenListingError} if it leads back, or has keys again that can no longer be told from others.
   */
  follow(page: ListedPage, requestedToken: string | undefined): readonly number[] {
    const { nextContinuationToken: token, keyCount } = page;
    if (token !== undefined && (token === requestedToken || token === this.#mark)) {
      throw new BrokenListingError(
        'The listing of the store goes in a circle: it repeats a continuation token.',
      );
    }
    if (token !== undefined) this.#count(token);
    const found: number[] = [];
    for (let index = 0; index < keyCount; index += 1) if (this.#add(textOf(page, index))) found.push(index);
    this.#hasRepeated ||= found.length < keyCount;
    if (this.#hasRepeated && this.#hasForgotten)
      throw new BrokenListingError('The store lists keys again, too far apart to count each once.');
    this.#idlePages = found.length === 0 ? this.#idlePages + 1 : 0;
    if (this.#idlePages >= emptyPagesMax) throw endlessError({ prefix: this.#prefix });
    return found;
  }

  /** @returns false: it was there. */
  #add(key: string): boolean {
    const digest = sha256Hex(key).slice(0, digestLength);
    if (this.#latest.has(digest) || this.#earlier.has(digest)) return false;
    if (this.#latest.size >= keysRemembered) {
      this.#hasForgotten = this.#earlier.size > 0;
      this.#earlier = this.#latest;
      this.#latest = new Set();
    }
    this.#latest.add(digest);
    return true;
  }

  #count(token: string): void {
    this.#pagesSinceMark += 1;
    if (this.#pagesSinceMark < this.#pagesToMark) return;
    this.#mark = token;
    this.#pagesSinceMark = 0;
    this.#pagesToMark *= 2;
  }
}
