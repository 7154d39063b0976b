import { dayMs, dayOf } from '../../../../lambda/core/rules/dates.ts';
import type { Point } from './chart-figures.ts';

/** Weekly points of a repo: a week ends on Sunday (UTC), and the last one is the present week. */

/** How much each week added to the one before; below 0 if more was deleted. null: not known. */
export function addedByWeek(weeks: readonly (number | null)[]): (number | null)[] {
  return weeks.slice(1).map((bytes, index) => {
    const before = weeks[index] ?? null;
    return bytes === null || before === null ? null : bytes - before;
  });
}

/** Points of a chart from the first known week on. A week that isn't known has the figure of the one before. */
export function weekPoints(
  weeks: readonly (number | null)[],
  options: { limitBytes: number | null; nowMs: number },
): Point[] {
  const { limitBytes, nowMs } = options;
  const weekday = new Date(nowMs).getUTCDay() || 7;
  const first = weeks.findIndex((bytes) => bytes !== null);
  if (first < 0) return [];
  let storedBytes = 0;
  return weeks.slice(first).map((bytes, index, known) => {
    storedBytes = bytes ?? storedBytes;
    const ago = known.length - 1 - index;
    const day = dayOf(nowMs - (ago === 0 ? 0 : weekday + 7 * (ago - 1)) * dayMs);
    // The limit of earlier weeks isn't known.
    const limitThen = ago === 0 ? limitBytes : undefined;
    return { day, storedBytes, usedBytes: storedBytes, limitBytes: limitThen, refusals: 0 };
  });
}
