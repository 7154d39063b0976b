/** Bins of which the least filled is always at hand: a binary heap. */
export class LeastFilled {
  readonly #bins: Uint32Array;
  readonly fills: Float64Array;

  /** @param fills of the bins, which this changes. They must be equal to begin with. */
  constructor(fills: Float64Array) {
    this.fills = fills;
    this.#bins = Uint32Array.from(fills.keys());
  }

  /** The least filled bin. undefined if there is none. */
  get least(): number | undefined {
    return this.#bins[0];
  }

  /** Adds to the least filled bin. */
  add(amount: number): void {
    const { fills } = this;
    const bins = this.#bins;
    const moved = bins[0];
    if (moved === undefined) return;
    const fill = (fills[moved] ?? 0) + amount;
    fills[moved] = fill;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= bins.length) break;
      if (child + 1 < bins.length && this.#fillAt(child + 1) < this.#fillAt(child)) child += 1;
      if (this.#fillAt(child) >= fill) break;
      bins[at] = bins[child] ?? 0;
      at = child;
    }
    bins[at] = moved;
  }

  #fillAt(place: number): number {
    return this.fills[this.#bins[place] ?? 0] ?? 0;
  }
}
