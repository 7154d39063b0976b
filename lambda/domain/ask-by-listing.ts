import { pageKeysMax } from './scan/page-size.ts';
import type { Settings } from './settings.ts';

/** A scan whose hint is right needs so many more requests than full pages. */
const splitOverhead = 1.07;

/**
 * How many LIST requests may find out which of some objects of a repo are stored: no more than cost as much as a HEAD for
 * each. 0: HEADs are cheaper.
 *
 * @param input.objectCount how many objects are asked for.
 * @param input.repoObjects how many the repo had when it was last counted. undefined: it never was, so one page finds
 * out whether it is small.
 */
export function listsToAsk(
  { headsPerList }: Pick<Settings, 'headsPerList'>,
  input: { objectCount: number; repoObjects: number | undefined },
): number {
  const { objectCount, repoObjects } = input;
  const affordable = Math.floor(objectCount / headsPerList);
  if (repoObjects === undefined) return Math.min(1, affordable);
  const pages = Math.max(1, Math.ceil((splitOverhead * repoObjects) / pageKeysMax));
  return pages <= affordable ? affordable : 0;
}

/** Time of a listing beyond which a store is asked by HEAD. */
const slowListingMs = 1000;
/** How long it is asked by HEAD then. */
const slowForMs = 10 * 60_000;

/** How fast the store has listed in this process. Some stores take seconds for a page that takes S3 a tenth of one. */
export class ListingPace {
  #slowUntilMs = 0;

  /** Notes how long a listing took, or that it failed. */
  note(tookMs: number, nowMs: number): void {
    if (tookMs > slowListingMs) this.#slowUntilMs = nowMs + slowForMs;
  }

  isSlow(nowMs: number): boolean {
    return nowMs < this.#slowUntilMs;
  }
}
