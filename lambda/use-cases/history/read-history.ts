import type { DownloadMonth, DownloadSum } from '../../adapters/dynamodb/downloads.ts';
import type { Deps } from '../../deps.ts';
import { type Forecast, forecastDays, forecastOf } from '../../domain/forecast.ts';
import {
  type HistoryDay,
  historyDaysMax,
  type LastRefusal,
  lastRefusalsOf,
  type UsageDay,
  usageDays,
} from '../../domain/history.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { dayAfter, dayMs, dayOf, monthOf, startOfDayMs } from '../../rules/text.ts';

/** An idle tenant is recounted once in this time, so a day that is carried was noted no longer before. */
const carriedDaysMax = 40;

export interface TenantHistory {
  /** The first and the last day of what was asked for, as far as days are kept. */
  readonly from: string;
  readonly to: string;
  readonly days: readonly (UsageDay & {
    /** What was offered for download. null: not known for this day. */
    readonly downloads: DownloadSum | null;
  })[];
  readonly forecast: Forecast;
  /** Of the last day, the newest first. */
  readonly lastRefusals: readonly LastRefusal[];
}

/**
 * The days of a tenant, and what they lead to. All days that are kept are read by one query: the forecast and the carried
 * figures need earlier ones than are asked for, and there are few.
 *
 * @param input.from default: a month before `to`. What is older than is kept is left out.
 * @param input.to default: today. What is later is left out.
 * @throws {LedgerUnavailableError}
 */
export async function readHistory(
  { history, downloads, clock }: Pick<Deps, 'history' | 'downloads' | 'clock'>,
  input: { tenant: TenantRecord; from?: string | undefined; to?: string | undefined },
): Promise<TenantHistory> {
  const { tenant, counted } = input.tenant;
  const today = dayOf(clock.nowMs());
  const oldest = dayAfter(today, 1 - historyDaysMax);
  const to = input.to !== undefined && input.to < today ? input.to : today;
  const asked = input.from ?? dayAfter(to, 1 - defaultDays);
  const from = asked < oldest ? oldest : asked;
  const [noted, months] = await Promise.all([
    history.days({ tenant, from: oldest, to: today }),
    downloads.months({ tenant, months: monthsOf({ from, to }) }),
  ]);
  const all = usageDays({ days: noted, from: oldest, to: today, today, now: counted });
  return {
    from,
    to,
    days: all
      .filter(({ day }) => day >= from && day <= to)
      .map((each) => ({ ...each, downloads: downloadsOf(each.day, months) })),
    lastRefusals: lastRefusalsOf(noted, clock.nowMs() - dayMs),
    forecast: forecastNow({
      tenant: input.tenant,
      noted: noted.filter(({ day }) => day >= forecastFrom(today)),
      today,
    }),
  };
}

/** Days that are shown unless somebody asks for others. */
const defaultDays = 30;

/** The first day that a forecast for a day needs to know of. */
export function forecastFrom(today: string): string {
  return dayAfter(today, 1 - forecastDays - carriedDaysMax);
}

/** The forecast of a tenant, by what was noted from {@link forecastFrom} on. */
export function forecastNow(input: {
  tenant: TenantRecord;
  noted: readonly HistoryDay[];
  today: string;
}): Forecast {
  const { tenant, noted, today } = input;
  const from = dayAfter(today, 1 - forecastDays);
  const days = usageDays({ days: noted, from, to: today, today, now: tenant.counted });
  return forecastOf({ days, limitBytes: tenant.limitBytes });
}

function monthsOf({ from, to }: { from: string; to: string }): string[] {
  const months = new Set<string>();
  for (let day = from; day <= to; day = dayAfter(day)) months.add(monthOf(startOfDayMs(day)));
  return [...months];
}

/** A month that was metered in part before days were summed up does not tell about the days that it lacks. */
function downloadsOf(day: string, months: readonly DownloadMonth[]): DownloadSum | null {
  const none = { bytes: 0, objects: 0 };
  const month = months.find((each) => day.startsWith(each.month));
  const found = month?.days.get(day);
  if (found || !month) return found ?? none;
  const summed = [...month.days.values()].reduce((sum, each) => sum + each.objects, 0);
  return summed === month.objects ? none : null;
}
