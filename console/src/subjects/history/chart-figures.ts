import { dayMs } from '../../../../lambda/core/rules/dates.ts';
import type { ForecastBody } from '../../../../lambda/frame/contract/outlook.ts';

/** What is known of a day, or of a week by its last day. */
export interface Point {
  readonly day: string;
  readonly storedBytes: number;
  /** The most that was stored and reserved. */
  readonly usedBytes: number;
  /** Then. null: unlimited. undefined: unknown. */
  readonly limitBytes: number | null | undefined;
  /** Rejected pushes. */
  readonly refusals: number;
  /** Sample data: nobody stored this. */
  readonly isSample?: boolean;
  /** Parts of what was stored, from the ground up. */
  readonly layers?: readonly number[];
}

/** A limit that is further above what is stored would press the line to the ground. */
const limitTimesMax = 5;

/** Where the chart ends: a little above the limit, or above what is stored if the limit is far. */
export function topOf(mostBytes: number, limitBytes: number | null): number {
  const most = Math.max(mostBytes, 1);
  const isLimitNear = limitBytes !== null && limitBytes > 0 && limitBytes <= most * limitTimesMax;
  return Math.max(most, isLimitNear ? limitBytes : 0) * 1.08;
}

/** Two to four round figures in the unit of the largest, from 0 on. */
export function ticksOf(top: number): number[] {
  const unit = 1024 ** Math.floor(Math.log(Math.max(top, 1)) / Math.log(1024));
  const rough = top / unit / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power * unit;
  const ticks = [0];
  for (let bytes = step; bytes < top * 0.95; bytes += step) ticks.push(bytes);
  return ticks.filter((bytes) => bytes === 0 || bytes >= 1);
}

/** The limit counts where it is near enough to be seen. */
export function topOfPoints(points: readonly Point[], forecastBytes: number): number {
  const most = Math.max(forecastBytes, ...points.map(({ usedBytes }) => usedBytes));
  const tops = points.map(({ limitBytes }) => topOf(most, limitBytes ?? null));
  return Math.max(topOf(most, null), ...tops);
}

/** How many days the forecast is drawn for: up to a quarter of those that are shown, and not beyond the limit. */
export function daysAhead({ fullOn, bytesPerDay }: ForecastBody, days: number, today: string): number {
  if (bytesPerDay === null || bytesPerDay <= 0) return 0;
  const left = fullOn === null ? days : Math.max(0, (Date.parse(fullOn) - Date.parse(today)) / dayMs);
  return Math.min(left, Math.ceil(days / 4));
}

/** `M…L…` along the points; where there is none, the line is broken. */
export function lineOf(places: readonly (readonly [x: number, y: number] | undefined)[]): string {
  return places
    .map(
      (place, index) =>
        place && `${places[index - 1] ? 'L' : 'M'}${place[0].toFixed(1)},${place[1].toFixed(1)}`,
    )
    .filter((each) => each !== undefined)
    .join('');
}

/** Each limit holds until the next point. */
export function stepsOf(
  points: readonly Point[],
  x: (index: number) => number,
  y: (bytes: number) => number,
): string {
  return lineOf(
    points.flatMap(({ limitBytes }, index) => {
      if (limitBytes === null || limitBytes === undefined) return [undefined];
      const until = x(Math.min(index + 1, points.length - 1));
      return [[x(index), y(limitBytes)] as const, [until, y(limitBytes)] as const];
    }),
  );
}

export interface Ring {
  readonly index: number;
  readonly count: number;
}

/** Days with rejected pushes. Those that would cover each other are one, at the last of them. */
export function ringsOf(points: readonly Point[], apart: number): Ring[] {
  const rings: Ring[] = [];
  for (const [index, { refusals }] of points.entries()) {
    if (refusals === 0) continue;
    const last = rings.at(-1);
    if (last && index - last.index < apart) rings.pop();
    rings.push({ index, count: refusals + (last && index - last.index < apart ? last.count : 0) });
  }
  return rings;
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Some days with a name: the first of each quarter, of each month, or one a week. */
export function dayTicks(days: readonly string[]): { index: number; text: string }[] {
  const last = days.length - 1;
  const span = (Date.parse(days[last] ?? '') - Date.parse(days[0] ?? '')) / dayMs;
  const isWeekly = span > last;
  const named = days.flatMap((day, index) => {
    const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
    const name = monthNames[month - 1] ?? '';
    if (span < 45) return isWeekly || (last - index) % 7 === 3 ? [{ index, text: `${date} ${name}` }] : [];
    const isFirst = index > 0 && days[index - 1]?.slice(0, 7) !== day.slice(0, 7);
    if (!isFirst || (span >= 200 && month % 3 !== 1)) return [];
    return [{ index, text: month === 1 ? String(year) : name }];
  });
  // Text at the edges would stick out, or cover "today".
  return named.filter(({ index }) => index > last * 0.04 && index < last * 0.93);
}
