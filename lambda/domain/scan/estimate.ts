import { type KeyRange, widthOf } from './key-space.ts';

/** How many keys a range is expected to hold. */
export interface Estimate {
  readonly keys: number;
  /** Standard error of the density behind it, as a fraction. 0: the number was counted, not estimated. */
  readonly relativeError: number;
  /** Set if keys are skewed: the width, from the beginning of the range, that the estimate is valid for. */
  readonly reach?: number;
}

/** Keys that were counted in a part of the key space, and the width of that part. */
export interface Sample {
  readonly keys: number;
  readonly width: number;
}

/** If two densities differ by more standard errors than this, the keys are not spread evenly. */
const evenWithinSigmas = 4;

/** Hashes never make a page denser than another by this much. */
const unevenRatio = 1.5;

/** If keys are skewed, the density is trusted for this many keys ahead. A dense spot may end anywhere. */
const skewedKeysMax = 10_000;

/** Estimates the density of keys from the pages that were read. From `n` keys, its standard error is 1/√n. */
export class DensityEstimator {
  #keys = 0;
  #width = 0;

  /** Adds a part of the key space that was counted. Each part may be added once. */
  add(sample: Sample): void {
    this.#keys += sample.keys;
    this.#width += sample.width;
  }

  /** True if a part is so much denser or thinner than all parts together that its keys can hardly be spread evenly. */
  contradicts(part: Sample): boolean {
    if (this.#width === 0 || part.width === 0) return true;
    const ratio = part.keys / part.width / (this.#keys / this.#width);
    const isFar = Math.max(ratio, 1 / ratio) > unevenRatio;
    return isFar && Math.abs(ratio - 1) > evenWithinSigmas / Math.sqrt(Math.max(1, part.keys));
  }

  /**
   * Estimates how many keys a range holds.
   *
   * For hashes, all pages together give the best density. If the part right before the range differs from them, keys
   * are skewed, and only that part is used.
   *
   * @param before the part right before the range, which was just counted.
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

/** Standard deviation of the number of keys in a range: from the randomness of hashes and from the estimate. */
export function deviation(estimate: Estimate): number {
  return Math.hypot(Math.sqrt(estimate.keys), estimate.relativeError * estimate.keys);
}
