import { pageKeysMax } from '../lambda/domain/scan/page-size.ts';
/** What counting a path costs: requests to the store on one side, the seconds a function waits on the other. */

/** A way to list a path. */
export interface Listing {
  /** LIST requests in all: each is paid for. */
  readonly requests: number;
  /** Requests that have to wait for each other: each is a page's time. */
  readonly rounds: number;
}

export interface ListingPrices {
  /** Of one LIST request. */
  readonly list: number;
  /** Of one second of the function that waits. */
  readonly second: number;
}

/** Requests that it takes to list `keys` one page after the other. An empty path takes one as well. */
function pagesOf(keys: number): number {
  return Math.max(1, Math.ceil(keys / pageKeysMax));
}

/** One page after the other. */
export function sequentialListing(keys: number): Listing {
  return { requests: pagesOf(keys), rounds: pagesOf(keys) };
}

/**
 * Every prefix at once, each page after page: all pay, and the longest is waited for.
 *
 * @param keysPerPrefix the keys of each prefix, in any order.
 */
export function prefixListing(keysPerPrefix: readonly number[]): Listing {
  const pages = keysPerPrefix.map(pagesOf);
  return { requests: pages.reduce((sum, count) => sum + count, 0), rounds: Math.max(...pages) };
}

/** The 16 hex digits at once, were the keys spread over them to the last one. Real hashes need more. */
export function evenSixteenListing(keys: number): Listing {
  const [share, rest] = [Math.floor(keys / 16), keys % 16];
  return prefixListing(Array.from({ length: 16 }, (_, digit) => share + (digit < rest ? 1 : 0)));
}

/** Slack against chance, in percent of the pages. */
const splitOverheadPercent = 7;
/** Up to so many pages all ranges are of one page; beyond it they are lanes of two, one of which overflows. */
const singleRoundPagesMax = 18;
const requestsAtOnce = 128;

/**
 * A page tells how many keys there are, then all the rest at once. With a hint, as after every count, all is
 * asked for in the first round. `test/unit/cost/listing-cost.test.ts` compares it with real scans of hashes.
 */
export function splitListing(keys: number, options: { hasHint: boolean }): Listing {
  const pages = pagesOf(keys);
  if (pages === 1) return { requests: 1, rounds: 1 };
  const requests = pages + Math.ceil((splitOverheadPercent * pages) / 100);
  const rounds = pages <= singleRoundPagesMax ? 1 : Math.max(3, Math.ceil(requests / requestsAtOnce) + 1);
  return { requests, rounds: options.hasHint ? rounds : rounds + 1 };
}

/** Dollars for a listing where a page takes `pageSeconds`. */
export function listingCost(listing: Listing, input: { pageSeconds: number; prices: ListingPrices }): number {
  const { pageSeconds, prices } = input;
  return listing.requests * prices.list + listing.rounds * pageSeconds * prices.second;
}

/**
 * Seconds a page from which on the quicker listing is the cheaper one as well: L > (p/c)(R − S)/(S − P).
 *
 * @returns Infinity where the other one waits no longer, so that nothing pays for the requests; 0 where there
 * are no more requests, so that it always pays.
 */
export function breakEvenPageSeconds(quick: Listing, slow: Listing, prices: ListingPrices): number {
  const roundsSaved = slow.rounds - quick.rounds;
  if (roundsSaved <= 0) return Number.POSITIVE_INFINITY;
  return Math.max(0, ((prices.list / prices.second) * (quick.requests - slow.requests)) / roundsSaved);
}

/** Dollars a second of a function with that much memory. */
export function secondPrice(input: { memoryMb: number; gbSecond: number }): number {
  return (input.memoryMb / 1024) * input.gbSecond;
}
