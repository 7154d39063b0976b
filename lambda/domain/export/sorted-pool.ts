/** Items in ascending order of their values, which are taken one by one: the smallest from a value on, or the largest up to one. */
export class SortedPool {
  readonly #items: Uint32Array;
  readonly #values: Float64Array;
  /** Where to look for the next item that is still there, in either direction. Paths are halved as they are walked. */
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  size: number;

  /** @param items in ascending order of `valueOfItem`. */
  constructor(items: Uint32Array, valueOfItem: (item: number) => number) {
    this.#items = items;
    this.#values = Float64Array.from(items, valueOfItem);
    // Position i + 1 stands for item i, so that both ends have a position.
    this.#next = Int32Array.from({ length: items.length + 2 }, (_, position) => position);
    this.#previous = Int32Array.from(this.#next);
    this.size = items.length;
  }

  /** Takes the item with the smallest value that is at least this. */
  takeAtLeast(value: number): number | undefined {
    return this.#take(find(this.#next, this.#countBelow(value) + 1));
  }

  /** Takes the item with the largest value that is less than this. */
  takeBelow(value: number): number | undefined {
    return this.#take(find(this.#previous, this.#countBelow(value)));
  }

  #take(position: number): number | undefined {
    if (position === 0 || position === this.#items.length + 1) return undefined;
    this.#next[position] = position + 1;
    this.#previous[position] = position - 1;
    this.size -= 1;
    return this.#items[position - 1];
  }

  #countBelow(value: number): number {
    let low = 0;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#values[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function find(links: Int32Array, from: number): number {
  let at = from;
  for (;;) {
    const to = links[at] ?? at;
    if (to === at) return at;
    links[at] = links[to] ?? to;
    at = to;
  }
}
