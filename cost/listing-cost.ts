import { pageKeysMax } from '../lambda/domain/scan/page-size.ts';

/** What it costs to count a path: requests to the store, and the seconds that a function waits for them. */

/** A way to list a path. */
export interface Listing {
  /** LIST requests in total. Each is billed. */
  readonly requests: number;
  /** Requests that wait for each other. Each takes the time of a page. */
  readonly rounds: number;
}

export interface ListingPrices {
  /** Price of one LIST request. */
  readonly list: number;
  /** Price of one second of the function that waits. */
  readonly second: number;
}

/** Requests to list `keys` one page after the other. An empty path takes one, too. */
function pagesOf(keys: number): number {
  return Math.max(1, Math.ceil(keys / pageKeysMax));
}

/** One page after the other. */
export function sequentialListing(keys: number): Listing {
  return { requests: pagesOf(keys), rounds: pagesOf(keys) };
}

/**
 * Every prefix in parallel, each page after page. All requests are billed, and the longest chain decides the rounds.
 *
 * @param keysPerPrefix the number of keys of each prefix, in any order.
 */
export function prefixListing(keysPerPrefix: readonly number[]): Listing {
  const pages = keysPerPrefix.map(pagesOf);
  return { requests: pages.reduce((sum, count) => sum + count, 0), rounds: Math.max(...pages) };
}

/** The 16 hex digits in parallel, as if keys were spread over them evenly. Real hashes need more. */
export function evenSixteenListing(keys: number): Listing {
  const [share, rest] = [Math.floor(keys / 16), keys % 16];
  return prefixListing(Array.from({ length: 16 }, (_, digit) => share + (digit < rest ? 1 : 0)));
}

/** Slack for chance, in percent of the pages. */
const splitOverheadPercent = 7;
/** Up to this many pages every range has one page. Above it ranges are lanes of two pages, one of which overflows. */
const singleRoundPagesMax = 18;
const requestsAtOnce = 128;

/**
 * One page, from which the number of keys is estimated, then the rest in parallel. With a hint, as after every count,
 * everything is requested in the first round. `test/unit/cost/listing-cost.test.ts` compares it with scans of hashes.
 */
export function splitListing(keys: number, options: { hasHint: boolean }): Listing {
  const pages = pagesOf(keys);
  if (pages === 1) return { requests: 1, rounds: 1 };
  const requests = pages + Math.ceil((splitOverheadPercent * pages) / 100);
  const rounds = pages <= singleRoundPagesMax ? 1 : Math.max(3, Math.ceil(requests / requestsAtOnce) + 1);
  return { requests, rounds: options.hasHint ? rounds : rounds + 1 };
}

/** Dollars for a listing if a page takes `pageSeconds`. */
export function listingCost(listing: Listing, input: { pageSeconds: number; prices: ListingPrices }): number {
  const { pageSeconds, prices } = input;
  return listing.requests * prices.list + listing.rounds * pageSeconds * prices.second;
}

/**
 * Seconds per page above which the quicker listing is also cheaper: L > (p/c)(R − S)/(S − P).
 *
 * @returns Infinity if the slow listing waits no longer, so that the quick one is never cheaper. 0 if the quick one
 * needs no more requests, so that it always is.
 */
export function breakEvenPageSeconds(quick: Listing, slow: Listing, prices: ListingPrices): number {
  const roundsSaved = slow.rounds - quick.rounds;
  if (roundsSaved <= 0) return Number.POSITIVE_INFINITY;
  return Math.max(0, ((prices.list / prices.second) * (quick.requests - slow.requests)) / roundsSaved);
}

/** Dollars per second of a function with this memory. */
export function secondPrice(input: { memoryMb: number; gbSecond: number }): number {
  return (input.memoryMb / 1024) * input.gbSecond;
}
