import { sha256Hex } from '../rules/hash.ts';
import { BrokenListingError, emptyPagesMax, endlessError, type ListedPage } from '../store/rules/store.ts';
import { textOf } from './page-in-range.ts';

/** Keys and tokens that are remembered, at most. Each takes about 100 bytes. */
const keysRemembered = 100_000;
/** 64 bits of a hash: two of so many keys have the same with a probability below 1 in 10⁹. */
const digestLength = 16;

/**
 * The pages of a range that continues by tokens. They must lead further: in a listing that comes back to where it was, the
 * scan would never end.
 */
export class PageTrail {
  readonly #prefix: string;
  /** Digests of keys and tokens, the latest last. */
  #listed: Set<string>;
  #hasForgotten: boolean;
  /** Of those of long ago, this share is remembered. */
  #share = 1;
  #hasRepeated = false;
  /** Pages in a row without a new key. */
  #idlePages = 0;

  /** @param listed what an earlier trail of the same listing remembered. */
  constructor(prefix: string, listed: readonly string[] = []) {
    this.#prefix = prefix;
    this.#listed = new Set(listed);
    // It isn't known of an earlier trail, so it may have.
    this.#hasForgotten = listed.length >= keysRemembered / 2;
  }

  /** What it remembers. */
  get listed(): readonly string[] {
    return [...this.#listed];
  }

  /** Keys were listed again, on pages that lie together. */
  get hasRepeated(): boolean {
    return this.#hasRepeated;
  }

  /**
   * Notes the next page.
   *
   * @returns the indexes of its keys that no page had before.
   * @throws {BrokenListingError} if it leads back, or has keys again that can no longer be told from others.
   */
  follow(page: ListedPage): readonly number[] {
    const { nextContinuationToken: token, keyCount } = page;
    if (token !== undefined && !this.#add(`token ${token}`)) {
      throw new BrokenListingError(
        'The listing of the store goes in a circle: it repeats a continuation token.',
      );
    }
    const found: number[] = [];
    for (let index = 0; index < keyCount; index += 1)
      if (this.#add(`key ${textOf(page, index)}`)) found.push(index);
    this.#hasRepeated ||= found.length < keyCount;
    if (this.#hasRepeated && this.#hasForgotten)
      throw new BrokenListingError('The store lists keys again, too far apart to count each once.');
    this.#idlePages = found.length === 0 ? this.#idlePages + 1 : 0;
    if (this.#idlePages >= emptyPagesMax) throw endlessError({ prefix: this.#prefix });
    return found;
  }

  /** @returns false: it was there. */
  #add(text: string): boolean {
    const digest = sha256Hex(text).slice(0, digestLength);
    if (this.#listed.has(digest)) return false;
    this.#listed.add(digest);
    if (this.#listed.size >= keysRemembered) this.#forget();
    return true;
  }

  /** Keeps the latest half, and so few of the others that they are half of that: a listing that begins again has some. */
  #forget(): void {
    this.#hasForgotten = true;
    const [others, latest] = [
      this.listed.slice(0, keysRemembered / 2),
      this.listed.slice(keysRemembered / 2),
    ];
    const isKept = (digest: string) => Number.parseInt(digest.slice(0, 8), 16) < this.#share * 2 ** 32;
    let kept = others.filter(isKept);
    while (kept.length > keysRemembered / 4) {
      this.#share /= 2;
      kept = kept.filter(isKept);
    }
    this.#listed = new Set([...kept, ...latest]);
  }
}
