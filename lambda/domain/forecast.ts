import { dayAfter } from '../rules/text.ts';
import type { UsageDay } from './history.ts';

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

export const noForecastReasons = [
  'unlimited',
  'not-counted',
  'too-few-days',
  'not-growing',
  'beyond-two-years',
] as const;
type NoForecast = (typeof noForecastReasons)[number];

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
  if (!now) return none('not-counted');
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
