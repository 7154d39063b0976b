/** Days and months in UTC, as text that sorts by time. */

export const dayMs = 86_400_000;

/** `2026-11-21`. */
export const dayOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

/** `2026-11`. */
export const monthOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 7);

/** The first moment of the month after. */
export function nextMonthMs(timeMs: number): number {
  const date = new Date(timeMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The first moment of the day after. */
export function dayAfterMs(timeMs: number): number {
  const date = new Date(timeMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1);
}

/** Whether a text of the form `2026-11-21` is a day that there is. */
export function isDay(text: string): boolean {
  const timeMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(timeMs) && dayOf(timeMs) === text;
}

/** The first moment of a day such as `2026-11-21`. */
export const startOfDayMs = (day: string): number => Date.parse(`${day}T00:00:00Z`);

/** The day so many days later. @param count negative: earlier. */
export const dayAfter = (day: string, count = 1): string => dayOf(startOfDayMs(day) + count * dayMs);

/** How many days `to` is after `from`. */
export const daysBetween = (from: string, to: string): number =>
  Math.round((startOfDayMs(to) - startOfDayMs(from)) / dayMs);

/** 365 days. */
export const yearMs = 365 * 24 * 60 * 60_000;
