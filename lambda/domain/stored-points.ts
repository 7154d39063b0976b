import { dayAfter, dayOf, daysBetween } from '../rules/text.ts';

/** What a repo stored at the end of a day (UTC). */
export interface StoredPoint {
  /** Such as `2026-11-21`. */
  readonly day: string;
  readonly storedBytes: number;
}

/** How long ago the point is that the present is compared with. */
const comparedDays = 30;

/** A point is kept only if the one before it is so much older: {@link StoredPoint}s are in the repo's own item. */
const stepDays = 7;

/** Points of a repo, at most: those of the last 30 days by {@link stepDays}, the one before, and the first of them. */
export const storedPointsMax = 7;

interface Counted {
  readonly storedBytes: number;
  readonly countedAtMs: number;
}

/**
 * The points of a repo once it is counted anew. What was counted last on an earlier day was stored at the end of that
 * day, as far as is known: what changes is recounted.
 *
 * @param before as it was last counted. undefined: never.
 */
export function pointsAfter(
  before: (Counted & { readonly points?: readonly StoredPoint[] | undefined }) | undefined,
  { countedAtMs }: Pick<Counted, 'countedAtMs'>,
): readonly StoredPoint[] {
  if (before === undefined) return [];
  const { points = [], storedBytes } = before;
  const [day, today] = [dayOf(before.countedAtMs), dayOf(countedAtMs)];
  const last = points.at(-1);
  const isKept = day < today && (last === undefined || daysBetween(last.day, day) >= stepDays);
  const all = isKept ? [...points, { day, storedBytes }] : points;
  const first = Math.max(0, indexOfCompared(all, today));
  return all.slice(Math.max(first, all.length - storedPointsMax));
}

/**
 * What the present is compared with: the newest point that is 30 days old or older. The oldest that is known, if all are
 * newer.
 *
 * @returns undefined if nothing is known from before today.
 */
export function pointBefore(
  repo: Counted & { readonly points?: readonly StoredPoint[] | undefined },
  today: string,
): StoredPoint | undefined {
  const day = dayOf(repo.countedAtMs);
  // It was not counted again, as nothing has changed.
  const own = day < today ? [{ day, storedBytes: repo.storedBytes }] : [];
  const known = [...(repo.points ?? []), ...own];
  return known[Math.max(0, indexOfCompared(known, today))];
}

/** −1: all are newer. */
function indexOfCompared(points: readonly StoredPoint[], today: string): number {
  const from = dayAfter(today, -comparedDays);
  return points.findLastIndex(({ day }) => day <= from);
}
