/** Rates are those of about this long, so that they follow what happens. */
const windowMs = 20_000;

/** How fast something is done, of late. */
export class Rate {
  readonly #samples: { readonly ms: number; readonly done: number }[] = [];

  /** @param sample.done all that was done so far. If it is less than before, it begins anew. */
  note(sample: { ms: number; done: number }): void {
    if (sample.done < (this.#samples.at(-1)?.done ?? 0)) this.#samples.length = 0;
    this.#samples.push(sample);
    while ((this.#samples[1]?.ms ?? Number.POSITIVE_INFINITY) <= sample.ms - windowMs) this.#samples.shift();
  }

  /** What is done in a second; undefined as long as nothing can be told. */
  get perSecond(): number | undefined {
    const [oldest, newest] = [this.#samples[0], this.#samples.at(-1)];
    if (!oldest || !newest || newest.ms <= oldest.ms) return undefined;
    return ((newest.done - oldest.done) * 1000) / (newest.ms - oldest.ms);
  }
}
