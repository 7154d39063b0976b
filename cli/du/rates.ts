/** Rates are those of about this long, so that they follow what the store does. */
const windowMs = 20_000;

/** What was done at a time. */
export interface Sample {
  readonly ms: number;
  readonly objects: number;
  readonly requests: number;
}

/** How fast a scan is, of late. */
export class Rates {
  readonly #samples: Sample[] = [];

  note(sample: Sample): void {
    this.#samples.push(sample);
    while ((this.#samples[1]?.ms ?? Number.POSITIVE_INFINITY) <= sample.ms - windowMs) this.#samples.shift();
  }

  /** Per second; undefined as long as nothing can be told. */
  get perSecond(): { readonly objects: number; readonly requests: number } | undefined {
    const [oldest, newest] = [this.#samples[0], this.#samples.at(-1)];
    if (oldest === undefined || newest === undefined || newest.ms <= oldest.ms) return undefined;
    const seconds = (newest.ms - oldest.ms) / 1000;
    return {
      objects: (newest.objects - oldest.objects) / seconds,
      requests: (newest.requests - oldest.requests) / seconds,
    };
  }
}
