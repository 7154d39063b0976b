import * as z from 'zod';
import { dayAfter, dayMs, dayOf } from '../../../core/rules/dates.ts';
import type { Frozen } from '../../../core/rules/stored.ts';

/** Days are kept for so long, the current one included. */
export const historyDaysMax = 400;

/** What is noted of a day, in UTC. */
export const daySchema = z.object({
  /** What the last reconcile of the day found. */
  storedBytes: z.number(),
  objectCount: z.number(),
  /** The most that was stored on the day, as far as reconciles saw it. */
  maxStoredBytes: z.number(),
  /** The most that was stored and promised to uploads at once, as far as reconciles saw it. Absent: not noted. */
  maxUsedBytes: z.number().optional(),
  /** The tenant's limit, as last noted on the day. null: unlimited. Absent: not noted. */
  limitBytes: z.number().nullable().optional(),
  /** Batches of which something was refused for the limit of what is stored. At least these, if there were many. */
  refusals: z.number().default(0),
  /** The same for the limit of a repo. */
  repoRefusals: z.number().default(0),
});

export interface HistoryDay extends Frozen<z.output<typeof daySchema>> {
  /** Such as `2026-11-21`. */
  readonly day: string;
  /** Some of the day's last, at most {@link lastRefusalsMax}, in no order. Omitted: none. */
  readonly lastRefusals?: readonly LastRefusal[];
}

/** Refused pushes of a day that are kept. */
export const lastRefusalsMax = 5;

/** A push of which something was refused. Retries of one user in one repo are one push. */
export const refusedSchema = z.object({
  atMs: z.number(),
  repo: z.string(),
  /** Owner of the token. null: it has neither user nor label. */
  user: z.string().nullable(),
  /** What was refused. */
  files: z.number(),
  bytes: z.number(),
  /** How much higher the limit would have to be: the number in git's message. */
  shortBytes: z.number(),
  /** Whose limit it was. */
  limit: z.enum(['tenant', 'repo']),
});

export interface LastRefusal extends Frozen<z.output<typeof refusedSchema>> {
  /** The push may have had more: some batch of it was as large as git-lfs makes them. */
  readonly isAtLeast: boolean;
}

/** Objects of a batch, as git-lfs makes them: a push with more files asks again. */
export const lfsBatchObjects = 100;

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

/** How a tenant is now. */
interface UsageNow {
  readonly storedBytes: number;
  readonly objectCount: number;
  /** Stored, and promised to uploads. */
  readonly usedBytes: number;
  readonly limitBytes: number | null;
}

/**
 * One entry for each day, without gaps: a day of which nothing was noted has the figures of the day before, because what
 * changes is reconciled. It begins with the first day of which anything is known.
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
  now: UsageNow | null;
}): UsageDay[] {
  const { days, from, to, today, now } = input;
  const noted = new Map(days.map((each) => [each.day, each]));
  const found: UsageDay[] = [];
  let last: HistoryDay | undefined;
  for (let day = days[0]?.day ?? today; day <= to; day = dayAfter(day)) {
    const carried = last && { ...last, day, ...peaksOf(last.storedBytes), refusals: 0, repoRefusals: 0 };
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
  now: UsageNow | null;
}): HistoryDay | undefined {
  const { day, noted, carried, now } = input;
  const known = noted ?? carried;
  if (!now) return known;
  const { storedBytes, objectCount, usedBytes, limitBytes } = now;
  const { maxStoredBytes = 0, maxUsedBytes = 0, refusals = 0, repoRefusals = 0 } = known ?? {};
  return {
    day,
    storedBytes,
    objectCount,
    maxStoredBytes: Math.max(storedBytes, maxStoredBytes),
    maxUsedBytes: Math.max(usedBytes, maxUsedBytes),
    limitBytes,
    refusals,
    repoRefusals,
  };
}

/** Of a day on which nothing happened. */
const peaksOf = (storedBytes: number) => ({ maxStoredBytes: storedBytes, maxUsedBytes: storedBytes });

/** Weeks of a repo that are kept, the current one included: as long as days are. */
export const historyWeeksMax = 57;
/** Weeks of each repo in a list: a quarter. */
export const listedWeeks = 13;

/** The number of a week (UTC), which begins on a Monday. */
export const weekOf = (timeMs: number): number => Math.floor((timeMs / dayMs + 3) / 7);

/** What a repo stored at the end of a week. */
export interface NotedWeek {
  readonly week: number;
  readonly storedBytes: number;
}

/**
 * What a repo stored at the end of each of the last weeks, the oldest first. The last one is the current week. A week of
 * which nothing was noted has the figure of the one before, because what changes is reconciled.
 *
 * @param input.noted in any order.
 * @param input.repo as it was last counted. undefined: it never was.
 * @returns null: not known.
 */
export function weeksOf(input: {
  noted: readonly NotedWeek[];
  repo: { readonly storedBytes: number; readonly scannedAtMs: number } | undefined;
  nowMs: number;
  count: number;
}): (number | null)[] {
  const { noted, repo, nowMs, count } = input;
  const own = repo ? [{ week: weekOf(repo.scannedAtMs), storedBytes: repo.storedBytes }] : [];
  const known = [...noted, ...own].sort((a, b) => a.week - b.week);
  const first = weekOf(nowMs) - count + 1;
  return Array.from(
    { length: count },
    (_, index) => known.findLast(({ week }) => week <= first + index)?.storedBytes ?? null,
  );
}

/** A forecast looks at so many days, the current one included. */
export const forecastDays = 60;
/** With fewer days nothing is forecast. */
const forecastDaysMin = 7;
/** What is further away is not forecast: two years. */
const aheadDaysMax = 731;

/** When a tenant reaches its limit, if it goes on as it did. */
export type Forecast =
  | {
      readonly kind: 'full';
      /** In UTC, such as `2026-11-21`: today if the limit is reached already. */
      readonly day: string;
      readonly bytesPerDay: number | null;
    }
  | { readonly kind: 'none'; readonly reason: NoForecast; readonly bytesPerDay: number | null };

type NoForecast = 'unlimited' | 'not-scanned' | 'too-few-days' | 'not-growing' | 'beyond-two-years';

/**
 * Growth is the median of the slopes between each two days (Theil and Sen). So one large push, or a delete, does not
 * decide: growth that is shown goes on for weeks.
 *
 * @param input.days without gaps. The last one is today.
 */
export function forecastOf(input: { days: readonly UsageDay[]; limitBytes: number | null }): Forecast {
  const { limitBytes } = input;
  const days = input.days.slice(-forecastDays);
  const now = days.at(-1);
  const bytesPerDay = days.length < forecastDaysMin ? null : medianSlope(days.map((day) => day.storedBytes));
  const none = (reason: NoForecast) => ({ kind: 'none', reason, bytesPerDay }) as const;
  if (limitBytes === null) return none('unlimited');
  if (!now) return none('not-scanned');
  const leftBytes = limitBytes - now.storedBytes;
  if (leftBytes <= 0) return { kind: 'full', day: now.day, bytesPerDay };
  if (bytesPerDay === null) return none('too-few-days');
  if (bytesPerDay <= 0) return none('not-growing');
  const aheadDays = Math.ceil(leftBytes / bytesPerDay);
  if (aheadDays > aheadDaysMax) return none('beyond-two-years');
  return { kind: 'full', day: dayAfter(now.day, aheadDays), bytesPerDay };
}

/** @param values one for each day, at least two. */
function medianSlope(values: readonly number[]): number {
  const slopes = values.flatMap((from, first) =>
    values.slice(first + 1).map((to, index) => (to - from) / (index + 1)),
  );
  slopes.sort((a, b) => a - b);
  const middle = slopes.length / 2;
  const [lower = 0, upper = 0] = [slopes[Math.ceil(middle) - 1], slopes[Math.floor(middle)]];
  return (lower + upper) / 2;
}

/** So many refusals of a tenant are written one by one before it has to wait. */
const writesAtFirst = 10;
/** From then on one write in this time. */
const writeEveryMs = 10_000;
/** Tenants that one process remembers. */
export const tallyTenantsMax = 1000;

interface Tally {
  readonly day: string;
  readonly writesLeft: number;
  readonly filledAtMs: number;
  readonly unwritten: number;
}

/**
 * Which refusals of batches this process writes down. A client that is refused in a loop must not cost a write each time:
 * after the first few its refusals are gathered, and written together. Those that are still gathered when the process or
 * the day ends are not written, so what is written is at least what happened.
 */
export class RefusalTally {
  /** By tenant, the one that was refused longest ago first. */
  readonly #tallies = new Map<string, Tally>();

  /** Counts a refusal. @returns how many to write now. 0: a later one writes it. */
  add(tenant: string, nowMs: number): number {
    const before = this.#filled(tenant, nowMs);
    const unwritten = before.unwritten + 1;
    const isWritten = before.writesLeft >= 1;
    this.#put(tenant, {
      ...before,
      writesLeft: before.writesLeft - (isWritten ? 1 : 0),
      unwritten: isWritten ? 0 : unwritten,
    });
    return isWritten ? unwritten : 0;
  }

  /** What was to be written was not: it is written with the next. */
  giveBack(tenant: string, count: number, nowMs: number): void {
    const before = this.#filled(tenant, nowMs);
    this.#put(tenant, { ...before, unwritten: before.unwritten + count });
  }

  #filled(tenant: string, nowMs: number): Tally {
    const day = dayOf(nowMs);
    const known = this.#tallies.get(tenant);
    if (known?.day !== day) return { day, writesLeft: writesAtFirst, filledAtMs: nowMs, unwritten: 0 };
    // A clock may go back.
    const gained = Math.max(0, nowMs - known.filledAtMs) / writeEveryMs;
    return { ...known, writesLeft: Math.min(writesAtFirst, known.writesLeft + gained), filledAtMs: nowMs };
  }

  #put(tenant: string, tally: Tally): void {
    this.#tallies.delete(tenant);
    this.#tallies.set(tenant, tally);
    const [oldest] = this.#tallies.keys();
    if (this.#tallies.size > tallyTenantsMax && oldest !== undefined) this.#tallies.delete(oldest);
  }
}
