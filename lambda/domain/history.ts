import { dayAfter } from '../rules/text.ts';

/** Days are kept for so long, the current one included. */
export const historyDaysMax = 400;

/** What is noted of a day, in UTC. */
export interface HistoryDay {
  /** Such as `2026-11-21`. */
  readonly day: string;
  /** What the last recount of the day found. */
  readonly storedBytes: number;
  readonly objectCount: number;
  /** The most that was stored on the day, as far as recounts saw it. */
  readonly maxStoredBytes: number;
  /** Batches of which something was refused for the limit of what is stored. At least these, if there were many. */
  readonly refusals: number;
  /** Some of the day's last, at most {@link lastRefusalsMax}, in no order. Omitted: none. */
  readonly lastRefusals?: readonly LastRefusal[];
}

/** Refused pushes of a day that are kept. */
export const lastRefusalsMax = 5;

/** A push of which something was refused. Retries of one user in one repo are one push. */
export interface LastRefusal {
  readonly atMs: number;
  readonly repo: string;
  /** Owner of the token. null: it has neither user nor label. */
  readonly user: string | null;
  /** What was refused. */
  readonly files: number;
  readonly bytes: number;
  /** How much higher the limit would have to be: the number in git's message. */
  readonly shortBytes: number;
  /** Whose limit it was. */
  readonly limit: 'tenant' | 'repo';
}

/** A day as it is shown. */
export interface UsageDay extends HistoryDay {
  /** Nothing was noted on this day: the figures are those of the day before. */
  readonly isCarried: boolean;
}

/** The newest refused pushes since a time, the last first. */
export function lastRefusalsOf(days: readonly HistoryDay[], sinceMs: number): LastRefusal[] {
  const all = days.flatMap(({ lastRefusals = [] }) => lastRefusals).filter(({ atMs }) => atMs >= sinceMs);
  return all.sort((a, b) => b.atMs - a.atMs).slice(0, lastRefusalsMax);
}

/**
 * One entry for each day, without gaps: a day of which nothing was noted has the figures of the day before, because what
 * changes is recounted. It begins with the first day of which anything is known.
 *
 * @param input.days sorted by day, from `from` or before on.
 * @param input.now what is stored as last counted. It is what `today` ends with, whether or not that was noted.
 * @param input.to no later than `today`.
 */
export function usageDays(input: {
  days: readonly HistoryDay[];
  from: string;
  to: string;
  today: string;
  now: { readonly storedBytes: number; readonly objectCount: number } | null;
}): UsageDay[] {
  const { days, from, to, today, now } = input;
  const noted = new Map(days.map((each) => [each.day, each]));
  const found: UsageDay[] = [];
  let last: HistoryDay | undefined;
  for (let day = days[0]?.day ?? today; day <= to; day = dayAfter(day)) {
    const carried = last && { ...last, day, maxStoredBytes: last.storedBytes, refusals: 0 };
    const atEnd = shownOf({ day, noted: noted.get(day), carried, now: day === today ? now : null });
    if (atEnd && day >= from) found.push({ ...atEnd, isCarried: !noted.has(day) });
    last = atEnd;
  }
  return found;
}

function shownOf(input: {
  day: string;
  noted: HistoryDay | undefined;
  carried: HistoryDay | undefined;
  now: { readonly storedBytes: number; readonly objectCount: number } | null;
}): HistoryDay | undefined {
  const { day, noted, carried, now } = input;
  const known = noted ?? carried;
  if (!now) return known;
  const { storedBytes, objectCount } = now;
  const maxStoredBytes = Math.max(storedBytes, known?.maxStoredBytes ?? 0);
  return { day, storedBytes, objectCount, maxStoredBytes, refusals: known?.refusals ?? 0 };
}
