import { deviation, type Estimate } from './estimate.ts';
import { cutRange, type KeyRange, widthOf } from './key-space.ts';
import { pageKeysMax } from './page-size.ts';

/** Expectations from keys that are not spread evenly may be absurd; nothing is gained by believing them. */
const keysExpectedMax = 1e9;

/** Up to so many keys one round of single pages costs at most two requests more than the pages need. */
const singlePagesUpToKeys = 18_100;

/** Loads of single pages above this are as good as certain to overflow. */
const pageLoadMax = 985;

/** A part of the key space that is still to be listed, and what is expected there. */
export interface Gap {
  readonly range: KeyRange;
  readonly estimate: Estimate;
}

/** A range that is listed page after page, beside other lanes. */
export interface Lane {
  readonly range: KeyRange;
  /** Pages that it is expected to take. */
  readonly pages: number;
}

interface LaneShape {
  readonly pagesPerLane: number;
  readonly hasHaste: boolean;
}

export interface LanesInput {
  readonly gaps: readonly Gap[];
  /** Lanes wanted at most; a gap gets one all the same. */
  readonly lanesMax: number;
  /** Somebody waits: rather a few requests more than a second round. */
  readonly hasHaste: boolean;
  /** With haste: requests that may be spent, where that is possible at all. */
  readonly requestsMax?: number;
}

/**
 * Cuts gaps into lanes such that each most likely ends within its pages.
 *
 * A lane's last page is only partly filled: the slack that keeps chance from overflowing it. A lane of more
 * pages wastes less of them, but takes as many rounds. So: one page a lane where few are needed or there is
 * haste, otherwise two, and more where there would be more lanes than `lanesMax`.
 */
export function planLanes(input: LanesInput): readonly Lane[] {
  const gaps = input.gaps.flatMap(withinReach);
  const lanesMax = Math.max(1, input.lanesMax);
  const totalKeys = gaps.reduce((sum, gap) => sum + gap.estimate.keys, 0);
  if (gaps.length === 1 && totalKeys <= pageKeysMax && isKnown(gaps)) {
    return gaps.map(({ range }) => ({ range, pages: 1 }));
  }
  let pagesPerLane = input.hasHaste || totalKeys <= singlePagesUpToKeys ? 1 : 2;
  for (;;) {
    const plans = gaps.map((gap) => lanePages(gap.estimate, { pagesPerLane, hasHaste: input.hasHaste }));
    const lanes = plans.reduce((sum, plan) => sum + plan.length, 0);
    if (lanes <= Math.max(lanesMax, gaps.length)) {
      if (pagesPerLane === 1 && input.requestsMax !== undefined) saveRequests(gaps, plans, input.requestsMax);
      return gaps.flatMap((gap, index) => cutGap(gap, plans[index] ?? [1]));
    }
    pagesPerLane = Math.max(pagesPerLane + 1, Math.ceil((pagesPerLane * lanes) / lanesMax));
  }
}

/** Cuts gaps into `lanesWanted` lanes, by what is expected of each: to see more of the key space at once. */
export function surveyLanes(gaps: readonly Gap[], lanesWanted: number): readonly Lane[] {
  const totalKeys = gaps.reduce((sum, gap) => sum + gap.estimate.keys, 0);
  return gaps.flatMap((gap) => {
    const share = totalKeys > 0 ? gap.estimate.keys / totalKeys : 1 / gaps.length;
    const lanes = Math.max(1, Math.round(lanesWanted * share));
    const pages = Math.max(1, Math.ceil(gap.estimate.keys / lanes / pageKeysMax));
    return cutRange(gap.range, new Array<number>(lanes).fill(1)).map(({ range }) => ({ range, pages }));
  });
}

/** Parts a gap of which an estimate only tells the beginning: what comes after may hold anything. */
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

/** True where the number of keys is no estimate, but was counted once. */
function isKnown(gaps: readonly Gap[]): boolean {
  return gaps.every((gap) => gap.estimate.relativeError === 0);
}

/** Standard deviations between what is expected of a lane and what its pages hold. */
function sigmasOf(estimate: Estimate, lanes: LaneShape): number {
  // An overflow costs a round: dear where there is one round in all, cheap among several.
  if (lanes.pagesPerLane > 1) return 2.1;
  return lanes.hasHaste || estimate.relativeError === 0 ? 3 : 2.5;
}

/** The pages of each lane: as few in total as leave the slack that is wanted. */
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

/** Takes single pages back, where the others are least full, until the requests suffice. */
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

/** Cuts a gap so that every lane is equally unlikely to overflow. */
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
