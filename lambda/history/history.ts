import type { Deps } from '../deps.ts';
import type { DownloadMonth, DownloadSum } from '../downloads/download-store.ts';
import type { TenantRecord } from '../ledger/rules/tenant.ts';
import { dayAfter, dayMs, dayOf, monthOf, startOfDayMs } from '../rules/dates.ts';
import {
  type Forecast,
  forecastDays,
  forecastOf,
  type HistoryDay,
  historyDaysMax,
  type LastRefusal,
  lastRefusalsOf,
  type UsageDay,
  usageDays,
} from './rules/history.ts';

/**
 * Notes what a reconcile has committed as the value of the day. It is written though nothing may have changed: so a write
 * that was lost is made up for by the next reconcile. Nobody depends on it, so it never fails.
 *
 * @param input.before the tenant as the reconcile found it.
 * @param input.after the tenant as it was committed.
 */
export async function noteCount(
  { history, clock, log, metrics }: Pick<Deps, 'history' | 'clock' | 'log' | 'metrics'>,
  { before, after, epoch }: { before: TenantRecord; after: TenantRecord; epoch: number },
): Promise<'noted' | 'older' | 'unknown'> {
  const { tenant, scanned, closedAtMs } = after;
  // The history of a tenant that is being deleted goes with it.
  if (scanned === null || closedAtMs !== null) return 'unknown';
  const { storedBytes, objectCount } = scanned;
  const highestBytes = Math.max(storedBytes, before.scanned?.storedBytes ?? 0);
  try {
    return await history.note({ tenant, atMs: clock.nowMs(), epoch, storedBytes, objectCount, highestBytes });
  } catch (error) {
    log.warn('history not noted', { tenant, error });
    metrics.increment('HistoryNotNoted');
    return 'unknown';
  }
}

type RefusalDeps = Pick<Deps, 'history' | 'alerts' | 'refusalTally' | 'clock' | 'log'>;
interface Refused {
  readonly tenant: string;
  readonly limitBytes: number;
  readonly atMs: number;
  readonly storedBytes: number;
  readonly objectCount: number;
  readonly last: LastRefusal;
}

/** What was refused of a batch. */
interface RefusedBatch {
  readonly oids: readonly string[];
  readonly refusedBytes: number;
  readonly missingBytes: number;
  /** The repo that has the limit. null: it's the tenant's. */
  readonly repo: string | null;
  readonly storedBytes: number;
  readonly limitBytes: number;
}

/**
 * Notes a batch that the tenant's or a repo's limit refused something of. If it's the tenant's and the first of the day,
 * warns. Its result isn't awaited, and it never fails: the requests go out together with what the batch writes anyway.
 *
 * @param tenant as the batch started with it. @param refusal as its client sees it: a reconcile might have come between.
 */
export async function noteRefusal(
  deps: RefusalDeps,
  { tenant, scanned }: Pick<TenantRecord, 'tenant' | 'scanned'>,
  refusal: RefusedBatch,
  { repo, user }: { repo: string; user: string | null },
): Promise<void> {
  // Of a tenant that was never counted there is nothing to note.
  if (scanned === null) return;
  const { limitBytes } = refusal;
  const isOfRepo = refusal.repo !== null;
  const storedBytes = isOfRepo ? scanned.storedBytes : refusal.storedBytes;
  const { objectCount } = scanned;
  const atMs = deps.clock.nowMs();
  const last: LastRefusal = {
    atMs,
    repo,
    user,
    files: refusal.oids.length,
    bytes: refusal.refusedBytes,
    shortBytes: refusal.missingBytes,
    limit: isOfRepo ? 'repo' : 'tenant',
  };
  const refused = { tenant, limitBytes, storedBytes, objectCount, atMs, last };
  // A tenant's name has no slash.
  const count = deps.refusalTally.add(isOfRepo ? `${tenant}/` : tenant, atMs);
  if (count === 0) return;
  await (isOfRepo
    ? addToDay(deps, refused, 0)
    : Promise.all([addToDay(deps, refused, count), warnOnce(deps, refused)]));
}

async function addToDay({ history, refusalTally, log }: RefusalDeps, refused: Refused, count: number) {
  const { tenant, atMs, storedBytes, objectCount, last } = refused;
  try {
    await history.addRefusals({ tenant, atMs, count, storedBytes, objectCount, last });
  } catch (error) {
    if (count > 0) refusalTally.giveBack(tenant, count, atMs);
    log.warn('refusal not noted', { tenant, error });
  }
}

/** One write decides, whichever processes refuse at the same time. Each tries it once a day, and again if it failed. */
async function warnOnce({ alerts, refusalTally, log }: RefusalDeps, refused: Refused) {
  const { tenant, atMs, storedBytes, limitBytes } = refused;
  if (refusalTally.isWarned(tenant, atMs)) return;
  try {
    const alert = { kind: 'limit_reached', atMs, storedBytes, limitBytes } as const;
    await alerts.raiseFull({ tenant, day: dayOf(atMs), alert });
    refusalTally.noteWarned(tenant, atMs);
  } catch (error) {
    log.warn('refusal not warned of', { tenant, error });
  }
}

/** An idle tenant is reconciled once in this time, so a day that is carried was noted no longer before. */
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
  const { tenant, scanned } = input.tenant;
  const today = dayOf(clock.nowMs());
  const oldest = dayAfter(today, 1 - historyDaysMax);
  const to = input.to !== undefined && input.to < today ? input.to : today;
  const asked = input.from ?? dayAfter(to, 1 - defaultDays);
  const from = asked < oldest ? oldest : asked;
  const [noted, months] = await Promise.all([
    history.days({ tenant, from: oldest, to: today }),
    downloads.months({ tenant, months: monthsOf({ from, to }) }),
  ]);
  const all = usageDays({ days: noted, from: oldest, to: today, today, now: scanned });
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
  const days = usageDays({ days: noted, from, to: today, today, now: tenant.scanned });
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

/** Days that one request removes. */
const daysAtOnce = 100;

/**
 * Removes all that was noted of a tenant that is being deleted.
 *
 * @param input.untilMs nothing is begun after this.
 * @returns false if the time was up first.
 * @throws {LedgerUnavailableError}
 */
export async function forgetHistory(
  { history, clock }: Pick<Deps, 'history' | 'clock'>,
  { tenant, untilMs }: { tenant: string; untilMs: number },
): Promise<boolean> {
  for (;;) {
    const { hasMore } = await history.forgetSome({ tenant, daysMax: daysAtOnce });
    if (!hasMore) return true;
    if (clock.nowMs() > untilMs) return false;
  }
}
