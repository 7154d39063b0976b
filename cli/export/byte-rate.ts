/** Rates are those of about this long, so that they follow what happens. */
const windowMs = 20_000;

/** How fast bytes are moved, of late. */
export class ByteRate {
  readonly #samples: { readonly ms: number; readonly bytes: number }[] = [];

  /** @param sample.bytes all that were moved so far. If they are fewer than before, it begins anew. */
  note(sample: { ms: number; bytes: number }): void {
    if (sample.bytes < (this.#samples.at(-1)?.bytes ?? 0)) this.#samples.length = 0;
    this.#samples.push(sample);
    while ((this.#samples[1]?.ms ?? Number.POSITIVE_INFINITY) <= sample.ms - windowMs) this.#samples.shift();
  }

  /** Bytes in a second; undefined as long as nothing can be told. */
  get perSecond(): number | undefined {
    const [oldest, newest] = [this.#samples[0], this.#samples.at(-1)];
    if (!oldest || !newest || newest.ms <= oldest.ms || newest.bytes === oldest.bytes) return undefined;
    return ((newest.bytes - oldest.bytes) * 1000) / (newest.ms - oldest.ms);
  }
}
