const stepMs = 5000;
const stepsMax = 1_000_000;

/** How long many waited, to five seconds. */
export class Waits {
  readonly #counts = new Float64Array(stepsMax + 1);
  count = 0;
  #longestMs = 0;

  add(waitMs: number): void {
    const step = Math.min(stepsMax, Math.max(0, Math.floor(waitMs / stepMs)));
    this.#counts[step] = (this.#counts[step] ?? 0) + 1;
    this.count += 1;
    this.#longestMs = Math.max(this.#longestMs, waitMs);
  }

  /** What a share of them waited at most. */
  seconds(share: number): number {
    if (share === 1) return this.#longestMs / 1000;
    let left = share * this.count;
    for (const [step, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return ((step + 1) * stepMs) / 1000;
    }
    return this.#longestMs / 1000;
  }
}
