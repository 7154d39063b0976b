import { type KeyRange, widthOf } from './key-space.ts';

/** How many keys a range is expected to hold. */
export interface Estimate {
  readonly keys: number;
  /** Standard error of the density that this follows from, as a fraction. */
  readonly relativeError: number;
  /** Where keys are skewed: how much of the range, from its beginning, this says something of. */
  readonly reach?: number;
}

/** Keys that were counted in a part of the key space. */
export interface Sample {
  readonly keys: number;
  readonly width: number;
}

/** Beyond this many standard errors two densities are taken to differ: the keys are not spread evenly. */
const evenWithinSigmas = 4;

/** How many keys ahead the density is believed where keys are skewed: a dense spot may end anywhere. */
const skewedKeysMax = 10_000;

/** What the pages read so far tell of the density of keys: `n` keys tell it to within 1/√n. */
export class DensityEstimator {
  #keys = 0;
  #width = 0;

  /** Notes a part of the key space that was counted; each part once. */
  add(sample: Sample): void {
    this.#keys += sample.keys;
    this.#width += sample.width;
  }

  /**
   * What to expect of a range of which the part before was just counted.
   *
   * All pages together tell the density of hashes best. Where what lies right before the range differs from
   * them, keys are skewed, and it alone is asked.
   */
  estimate(range: KeyRange, before: Sample): Estimate {
    const width = widthOf(range);
    const own = before.keys / Math.max(1, before.width);
    const pooled = this.#width > 0 ? this.#keys / this.#width : own;
    const ownError = 1 / Math.sqrt(Math.max(1, before.keys));
    const isEven = Math.abs(own - pooled) <= evenWithinSigmas * ownError * pooled;
    if (!isEven) {
      const keys = Math.min(skewedKeysMax, own * width);
      return { keys, relativeError: ownError, reach: keys / own };
    }
    return { keys: pooled * width, relativeError: 1 / Math.sqrt(Math.max(1, this.#keys)) };
  }
}

/** Standard deviation of the number of keys in a range: that of hashes by chance, and of the estimate. */
export function deviation(estimate: Estimate): number {
  return Math.hypot(Math.sqrt(estimate.keys), estimate.relativeError * estimate.keys);
}
