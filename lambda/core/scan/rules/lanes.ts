import { pageKeysMax } from '../../store/rules/store.ts';
import { cutRange, deviation, type Estimate, type KeyRange, widthOf } from './key-space.ts';

/** Limit for estimates. If keys are not spread evenly, an estimate may be absurdly high. */
const keysExpectedMax = 1e9;

/** Up to this many keys, one round of single pages costs at most two requests more than the pages need. */
const singlePagesUpToKeys = 18_100;

/** If single pages are expected to hold more keys than this, some will almost certainly overflow. */
const pageLoadMax = 985;

/** A part of the key space that is still to be listed, and how many keys it is expected to hold. */
export interface Gap {
  readonly range: KeyRange;
  readonly estimate: Estimate;
}

/** A range that is listed page by page, at the same time as other lanes. */
export interface Lane {
  readonly range: KeyRange;
  /** How many pages it is expected to take. */
  readonly pages: number;
}

interface LaneShape {
  readonly pagesPerLane: number;
  readonly isUrgent: boolean;
}

interface LanesInput {
  readonly gaps: readonly Gap[];
  /** Lanes at most. Each gap gets at least one, even if there are more gaps. */
  readonly lanesMax: number;
  /** Somebody waits: a few more requests are better than a second round. */
  readonly isUrgent: boolean;
  /** Requests that lanes of one page should take together. Exceeded if pages would almost certainly overflow. */
  readonly requestsMax?: number;
}

/**
 * Cuts gaps into lanes so that each lane most likely ends within its pages.
 *
 * The last page of a lane is only partly filled. This slack keeps it from overflowing by chance. A lane of several
 * pages wastes less, but takes as many rounds as it has pages. So a lane has one page if few are needed or the scan is
 * urgent. Otherwise it has two, or more if there would be more lanes than `lanesMax`.
 */
export function planLanes(input: LanesInput): readonly Lane[] {
  const gaps = input.gaps.flatMap(withinReach);
  const lanesMax = Math.max(1, input.lanesMax);
  const totalKeys = gaps.reduce((sum, gap) => sum + gap.estimate.keys, 0);
  if (gaps.length === 1 && totalKeys <= pageKeysMax && isKnown(gaps)) {
    return gaps.map(({ range }) => ({ range, pages: 1 }));
  }
  let pagesPerLane = input.isUrgent || totalKeys <= singlePagesUpToKeys ? 1 : 2;
  for (;;) {
    const plans = gaps.map((gap) => lanePages(gap.estimate, { pagesPerLane, isUrgent: input.isUrgent }));
    const lanes = plans.reduce((sum, plan) => sum + plan.length, 0);
    if (lanes <= Math.max(lanesMax, gaps.length)) {
      if (pagesPerLane === 1 && input.requestsMax !== undefined) saveRequests(gaps, plans, input.requestsMax);
      return gaps.flatMap((gap, index) => cutGap(gap, plans[index] ?? [1]));
    }
    pagesPerLane = Math.max(pagesPerLane + 1, Math.ceil((pagesPerLane * lanes) / lanesMax));
  }
}

/**
 * Cuts gaps into about `lanesWanted` lanes, more lanes for gaps with more expected keys. Their pages sample more of the
 * key space before everything is cut.
 */
export function surveyLanes(gaps: readonly Gap[], lanesWanted: number): readonly Lane[] {
  const totalKeys = gaps.reduce((sum, gap) => sum + gap.estimate.keys, 0);
  return gaps.flatMap((gap) => {
    const share = totalKeys > 0 ? gap.estimate.keys / totalKeys : 1 / gaps.length;
    const lanes = Math.max(1, Math.round(lanesWanted * share));
    const pages = Math.max(1, Math.ceil(gap.estimate.keys / lanes / pageKeysMax));
    return cutRange(gap.range, new Array<number>(lanes).fill(1)).map(({ range }) => ({ range, pages }));
  });
}

/** Splits a gap whose estimate is valid only for its beginning. The part after that may hold any number of keys. */
function withinReach(gap: Gap): readonly Gap[] {
  const { range, estimate } = gap;
  if (estimate.reach === undefined) return [gap];
  const width = widthOf(range);
  const [near, far] = cutRange(range, [estimate.reach, Math.max(0, width - estimate.reach)]);
  if (near === undefined || far === undefined) return [gap];
  return [
    { range: near.range, estimate },
    { range: far.range, estimate: { keys: 1, relativeError: 1 } },
  ];
}

/** True if the number of keys in every gap comes from an earlier count and not from an estimate. */
function isKnown(gaps: readonly Gap[]): boolean {
  return gaps.every((gap) => gap.estimate.relativeError === 0);
}

/** Slack of a lane: how many standard deviations lie between the keys it is expected to hold and its full pages. */
function sigmasOf(estimate: Estimate, lanes: LaneShape): number {
  // An overflow costs one more round. That is expensive if there is only one round, and cheap if there are several.
  if (lanes.pagesPerLane > 1) return 2.1;
  return lanes.isUrgent || estimate.relativeError === 0 ? 3 : 2.5;
}

/** The number of pages of each lane. Together they are the fewest pages that leave enough slack. */
function lanePages(estimate: Estimate, shape: LaneShape): number[] {
  const keys = Math.min(estimate.keys, keysExpectedMax);
  const sigmas = sigmasOf(estimate, shape);
  let pages = Math.max(1, Math.ceil(keys / pageKeysMax));
  for (; ; pages += 1) {
    const lanes = Math.ceil(pages / shape.pagesPerLane);
    const laneKeys = keys / lanes;
    const slack = lanes * deviation({ keys: laneKeys, relativeError: estimate.relativeError });
    if (pages * pageKeysMax - keys >= sigmas * slack || keys <= 1) return spread(pages, lanes);
  }
}

function spread(pages: number, lanes: number): number[] {
  return Array.from({ length: lanes }, (_, index) => Math.floor((pages + index) / lanes));
}

/** Removes single pages until `requestsMax` suffices, each time from the gap where the others stay least full. */
function saveRequests(gaps: readonly Gap[], plans: number[][], requestsMax: number): void {
  let requests = plans.reduce((sum, plan) => sum + plan.length, 0);
  while (requests > requestsMax) {
    const loads = gaps.map((gap, index) => gap.estimate.keys / ((plans[index]?.length ?? 1) - 1));
    const load = Math.min(...loads);
    if (load > pageLoadMax) return;
    plans[loads.indexOf(load)]?.pop();
    requests -= 1;
  }
}

/** Cuts a gap so that all lanes are equally unlikely to overflow. */
function cutGap(gap: Gap, pagesOfLanes: readonly number[]): Lane[] {
  const { keys, relativeError } = gap.estimate;
  const pages = pagesOfLanes.reduce((sum, count) => sum + count, 0);
  const deviations = pagesOfLanes.map((count) => deviation({ keys: (keys * count) / pages, relativeError }));
  const sigmas =
    (pages * pageKeysMax - keys) /
    Math.max(
      1,
      deviations.reduce((sum, value) => sum + value, 0),
    );
  const weights = pagesOfLanes.map((count, index) =>
    Math.max(1, count * pageKeysMax - sigmas * (deviations[index] ?? 0)),
  );
  const expected = weights.reduce((sum, weight) => sum + weight, 0);
  return cutRange(gap.range, weights).map(({ range, weight }) => ({
    range,
    pages: Math.max(1, Math.ceil(((weight / expected) * keys) / pageKeysMax)),
  }));
}
