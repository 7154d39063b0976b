import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { Counted, Forgotten, Listener, Refused } from '../../core/ledger/seams.ts';
import { dayAfter, dayMs, dayOf, monthOf, startOfDayMs } from '../../core/rules/dates.ts';
import { LedgerUnavailableError } from '../../core/rules/errors.ts';
import { demoTenant } from '../../core/rules/names.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { ForecastBody } from '../../frame/contract/outlook.ts';
import type { HistoryBody } from './contract.ts';
import type { HistoryPorts, OfferedMonth, OfferedPorts, OfferedSum } from './ports.ts';
import { type Step, stepOf } from './rules/byte-hours.ts';
import {
  type Forecast,
  forecastDays,
  forecastOf,
  type HistoryDay,
  historyDaysMax,
  type LastRefusal,
  lastRefusalsOf,
  lfsBatchObjects,
  type RefusalTally,
  usageDays,
  weekOf,
  weeksOf,
} from './rules/history.ts';

type NoteDeps = Pick<CoreDeps, 'clock' | 'log' | 'metrics'> & HistoryPorts;

/**
 * Makes sure that what the last reconcile committed is noted, before another replaces it: byte-hours need each. That it was, is
 * seen by what has to be read anyway.
 *
 * @returns notes what replaces it.
 * @throws {LedgerUnavailableError}
 */
export async function noteLastCount(
  deps: NoteDeps,
  before: TenantRecord,
): Promise<(event: Counted) => Promise<void>> {
  const { tenant } = before;
  const step = stepOf(before);
  let read: Awaited<ReturnType<NoteDeps['history']['hasNoted']>> | undefined;
  try {
    // A new tenant has nothing.
    if (step && step.epoch > 0 && before.closedAtMs === null) {
      read = await deps.history.hasNoted({ tenant, step });
      if (!read.isNoted) {
        await deps.history.note(countOf({ before, after: before, step }), read);
        read = undefined;
      }
    }
  } catch (error) {
    if (error instanceof LedgerUnavailableError) throw error;
    notNoted(deps, tenant, error);
  }
  return (event) => noteCount(deps, event, read);
}

/**
 * Notes what a reconcile has committed as the value of its day and hour. It's written though nothing may have changed: so a write
 * that was lost is made up for by the next reconcile. It never fails.
 *
 * @param input.before the tenant as the reconcile found it.
 * @param input.after the tenant as it was committed.
 * @param read the last day, as it was read.
 */
export async function noteCount(
  deps: NoteDeps,
  { before, after, epoch }: Counted,
  read?: Parameters<NoteDeps['history']['note']>[1],
): Promise<void> {
  const { tenant, closedAtMs } = after;
  const step = stepOf({ ...after, appliedEpoch: epoch });
  // The history of a tenant that is being deleted goes with it.
  if (!step || closedAtMs !== null) return;
  const carriedBytes = before.scanned?.storedBytes ?? 0;
  try {
    await deps.history.note({ ...countOf({ before, after, step }), carriedBytes }, read);
  } catch (error) {
    notNoted(deps, tenant, error);
  }
}

function countOf({ before, after, step }: Omit<Counted, 'epoch'> & { readonly step: Step }) {
  const { tenant, scanned, limitBytes } = after;
  const highestBytes = Math.max(step.storedBytes, before.scanned?.storedBytes ?? 0);
  // Of a tenant that was never counted, the counter has only what was added to it since.
  const highestUsedBytes = Math.max(highestBytes, after.committedBytes, before.committedBytes);
  return {
    tenant,
    ...step,
    objectCount: scanned?.objectCount ?? 0,
    highestBytes,
    highestUsedBytes,
    limitBytes,
  };
}

function notNoted({ log, metrics }: NoteDeps, tenant: string, error: unknown): void {
  log.warn('history not noted', { tenant, error });
  metrics.increment('HistoryNotNoted');
}

/**
 * Notes what a repo stored at the end of the week of its last count, once a later week's count is about to replace it: at
 * most once a week. It never fails.
 *
 * @param input.before as the reconcile found it. @param input.scannedAtMs of its own count.
 */
export async function noteWeek(
  { history, clock, log, metrics }: Pick<CoreDeps, 'clock' | 'log' | 'metrics'> & HistoryPorts,
  { tenant, epoch, before, scannedAtMs }: Parameters<Required<Listener>['repoCounted']>[0],
): Promise<void> {
  const { repo, storedBytes } = before;
  const week = weekOf(before.scannedAtMs);
  // The history of a repo that is being deleted goes with it.
  if (before.epoch === 0 || before.closedAtMs !== null || week >= weekOf(scannedAtMs)) return;
  try {
    await history.noteWeek({ tenant, repo, epoch, week, storedBytes, atMs: clock.nowMs() });
  } catch (error) {
    log.warn('history not noted', { tenant, repo, error });
    metrics.increment('HistoryNotNoted');
  }
}

/**
 * What repos stored at the end of each of the last weeks: {@link weeksOf}.
 *
 * @returns by name. @throws {LedgerUnavailableError}
 */
export async function readWeeks(
  { history, clock }: Pick<CoreDeps, 'clock'> & HistoryPorts,
  { tenant, repos, count }: { tenant: string; repos: readonly RepoRecord[]; count: number },
): Promise<ReadonlyMap<string, (number | null)[]>> {
  const found = await history.weeks({ tenant, repos: repos.map(({ repo }) => repo) });
  const nowMs = clock.nowMs();
  return new Map(
    repos.map((record) => {
      const { repo, endedClosingMs = 0, epoch } = record;
      // A note that landed late may be of a repo that was deleted under this name.
      const noted = (found.get(repo) ?? []).filter(({ week }) => week >= weekOf(endedClosingMs));
      return [repo, weeksOf({ noted, repo: epoch > 0 ? record : undefined, nowMs, count })];
    }),
  );
}

/**
 * Notes a batch that the tenant's or a repo's limit refused something of. It never fails.
 *
 * @param deps.tally of this process.
 */
export async function noteRefusal(
  {
    history,
    clock,
    log,
    tally,
  }: Pick<CoreDeps, 'clock' | 'log'> & HistoryPorts & { readonly tally: RefusalTally },
  { tenant: account, refusal, repo, user }: Refused,
): Promise<void> {
  const { tenant, scanned, limitBytes, committedBytes } = account;
  // Of a tenant that was never counted there is nothing to note.
  if (scanned === null) return;
  const isOfRepo = refusal.repo !== null;
  const storedBytes = isOfRepo ? scanned.storedBytes : refusal.storedBytes;
  const atMs = clock.nowMs();
  const last: LastRefusal = {
    atMs,
    repo,
    user,
    files: refusal.oids.length,
    bytes: refusal.refusedBytes,
    isAtLeast: refusal.askedCount >= lfsBatchObjects,
    shortBytes: refusal.missingBytes,
    limit: isOfRepo ? 'repo' : 'tenant',
  };
  // A tenant's name has no slash.
  const of = isOfRepo ? `${tenant}/` : tenant;
  const count = tally.add(of, atMs);
  if (count === 0) return;
  const usedBytes = Math.max(storedBytes, committedBytes);
  const { objectCount } = scanned;
  try {
    await history.addRefusals({
      tenant,
      limitBytes,
      usedBytes,
      storedBytes,
      objectCount,
      atMs,
      last,
      count,
    });
  } catch (error) {
    tally.giveBack(of, count, atMs);
    log.warn('refusal not noted', { tenant, error });
  }
}

/** An idle tenant is reconciled once in this time, so a day that is carried was noted no longer before. */
const carriedDaysMax = 40;

/**
 * The days of a tenant, and what they lead to. All days that are kept are read by one query: the forecast and the carried
 * figures need earlier ones than are asked for, and there are few.
 *
 * @param input.from default: a month before `to`. What is older than is kept is left out.
 * @param input.to default: today. What is later is left out.
 * @param input.isShown whether whoever asks may see this repo.
 * @throws {LedgerUnavailableError}
 */
export async function readHistory(
  { history, offered, clock }: Pick<CoreDeps, 'clock'> & HistoryPorts & OfferedPorts,
  input: {
    tenant: TenantRecord;
    from?: string | undefined;
    to?: string | undefined;
    isShown: (repo: string) => boolean;
  },
): Promise<HistoryBody> {
  const { tenant, limitBytes } = input.tenant;
  const today = dayOf(clock.nowMs());
  const oldest = dayAfter(today, 1 - historyDaysMax);
  const to = input.to !== undefined && input.to < today ? input.to : today;
  const asked = input.from ?? dayAfter(to, 1 - defaultDays);
  const from = asked < oldest ? oldest : asked;
  const [noted, sample, months] = await Promise.all([
    history.days({ tenant, from: oldest, to: today }),
    tenant === demoTenant ? history.sample(tenant) : [],
    offered({ tenant, months: monthsOf({ from, to }) }),
  ]);
  const all = usageDays({ days: noted, from: oldest, to: today, today, now: nowOf(input.tenant) });
  const made = sample
    .filter(({ day }) => day >= oldest && day < (all[0]?.day ?? today))
    .map((each) => ({ ...each, isCarried: false, sample: true as const, downloads: null }));
  const known = all.map((each) => ({ ...each, downloads: downloadsOf(each.day, months) }));
  return {
    tenant,
    limitBytes,
    from,
    to,
    days: [...made, ...known]
      .filter(({ day }) => day >= from && day <= to)
      .map(({ isCarried, lastRefusals: _, ...day }) => ({
        ...day,
        maxUsedBytes: day.maxUsedBytes ?? day.maxStoredBytes,
        carried: isCarried,
      })),
    forecast: forecastBody(
      forecastNow({
        tenant: input.tenant,
        noted: noted.filter(({ day }) => day >= forecastFrom(today)),
        today,
      }),
    ),
    lastRefusals: refusalBodies(lastRefusalsOf(noted, clock.nowMs() - dayMs), input.isShown),
  };
}

export function forecastBody(forecast: Forecast): ForecastBody {
  const bytesPerDay = forecast.bytesPerDay === null ? null : Math.round(forecast.bytesPerDay);
  return forecast.kind === 'full'
    ? { fullOn: forecast.day, reason: null, bytesPerDay }
    : { fullOn: null, reason: forecast.reason, bytesPerDay };
}

/** @param isShown whether whoever asks may see this repo. */
export function refusalBodies(
  refusals: readonly LastRefusal[],
  isShown: (repo: string) => boolean,
): HistoryBody['lastRefusals'] {
  const shown = refusals.filter(({ repo }) => isShown(repo));
  return shown.map(({ atMs, isAtLeast, ...refusal }) => ({ at: iso(atMs), ...refusal, atLeast: isAtLeast }));
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
  const days = usageDays({ days: noted, from, to: today, today, now: nowOf(tenant) });
  return forecastOf({ days, limitBytes: tenant.limitBytes });
}

/**
 * The last seven days before a day, and what they lead to.
 *
 * @returns `addedBytes` null: what was stored a week ago isn't known. `fullOn` null: no forecast.
 * @throws {LedgerUnavailableError}
 */
export async function weekOutlook(
  { history }: HistoryPorts,
  { tenant, today }: { tenant: TenantRecord; today: string },
) {
  const noted = await history.days({ tenant: tenant.tenant, from: forecastFrom(today), to: today });
  const weekAgo = dayAfter(today, -7);
  const days = usageDays({ days: noted, from: weekAgo, to: today, today, now: null });
  const before = days.find(({ day }) => day === weekAgo);
  const forecast = forecastNow({ tenant, noted, today });
  return {
    addedBytes: before && tenant.scanned ? tenant.scanned.storedBytes - before.storedBytes : null,
    refusals: days.reduce((sum, { refusals }) => sum + refusals, 0),
    fullOn: forecast.kind === 'full' ? forecast.day : null,
  };
}

function nowOf({ scanned, committedBytes, limitBytes }: TenantRecord) {
  return scanned && { ...scanned, usedBytes: Math.max(scanned.storedBytes, committedBytes), limitBytes };
}

function monthsOf({ from, to }: { from: string; to: string }): string[] {
  const months = new Set<string>();
  for (let day = from; day <= to; day = dayAfter(day)) months.add(monthOf(startOfDayMs(day)));
  return [...months];
}

/** A month that was metered in part before days were summed up does not tell about the days that it lacks. */
function downloadsOf(day: string, months: readonly OfferedMonth[]): OfferedSum | null {
  const none = { bytes: 0, objects: 0 };
  const month = months.find((each) => day.startsWith(each.month));
  const found = month?.days.get(day);
  // A correction may be there before what it corrects.
  if (found) return { bytes: Math.max(0, found.bytes), objects: Math.max(0, found.objects) };
  if (!month) return none;
  const summed = [...month.days.values()].reduce((sum, each) => sum + each.objects, 0);
  return summed === month.objects ? none : null;
}

/** Items that one request removes. */
const itemsAtOnce = 100;

/**
 * Removes all that was noted of a tenant that is being deleted.
 *
 * @param input.untilMs nothing is begun after this.
 * @throws {LedgerUnavailableError}
 */
export async function forgetHistory(
  { history, clock }: Pick<CoreDeps, 'clock'> & HistoryPorts,
  { tenant, untilMs }: { tenant: string; untilMs: number },
): Promise<Forgotten> {
  for (;;) {
    const { hasMore } = await history.forgetSome({ tenant, itemsMax: itemsAtOnce });
    if (!hasMore) return 'done';
    if (clock.nowMs() > untilMs) return 'unfinished';
  }
}
