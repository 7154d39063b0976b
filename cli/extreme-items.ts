/** Keeps the first `countMax` of many items in an order, without holding them all. */
export class FirstItems<T> {
  readonly #countMax: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];

  constructor(countMax: number, compare: (a: T, b: T) => number) {
    this.#countMax = countMax;
    this.#compare = compare;
  }

  add(item: T): void {
    this.#items.push(item);
    // Sorted now and then: each item costs as little as it would if all were sorted at the end.
    if (this.#items.length >= 2 * this.#countMax + 100) this.#items = this.sorted();
  }

  /** In order. */
  sorted(): T[] {
    return this.#items.sort(this.#compare).slice(0, this.#countMax);
  }
}
