import type { ListedPage } from '../../ports/object-listing.ts';

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
