import * as z from 'zod';
import { inKey } from '../../core/ledger/items.ts';
import type { RepoPath, Scanned } from '../../core/ledger/rules/tenant.ts';
import { dayMs, dayOf, startOfDayMs } from '../../core/rules/dates.ts';
import { sha256Hex } from '../../core/rules/hash.ts';
import { absent, adding, type Fields, setting } from '../../core/table/expressions.ts';
import { removeSome } from '../../core/table/records.ts';
import {
  batchGet,
  deleteItem,
  firstItems,
  getItem,
  inPartition,
  methodsOn,
  pagesOf,
  putItem,
  type Table,
  untilWritten,
  updateItem,
} from '../../core/table/requests.ts';
import { expiring, keyNames } from '../../core/table/table.ts';
import {
  afterStep,
  type Hour,
  hasStep,
  hourField,
  hourOf,
  hoursIn,
  hourText,
  type Step,
} from './rules/byte-hours.ts';
import {
  daySchema,
  type HistoryDay,
  historyDaysMax,
  historyWeeksMax,
  type LastRefusal,
  lastRefusalsMax,
  type NotedWeek,
  refusedSchema,
} from './rules/history.ts';

const dayItem = daySchema.extend({ sk: z.string() });

const notedEpoch = z.object({ epoch: z.number().optional() });

const sampleItem = z.object({ days: z.array(daySchema.extend({ day: z.string() })) });

/**
 * An item has as many places for refused pushes. One write must replace a push's retries without a read, so a push has a
 * place by its repo and user: two that share one leave the later.
 */
const refusedPlaces = Array.from({ length: lastRefusalsMax }, (_, place) => placeNames(place));

/** `full` has when the last batch of the place was at least as large as git-lfs makes them. */
function placeNames(place: number) {
  return { refused: `refused${place}`, full: `full${place}` };
}

function refusedPlaceOf({ repo, user }: Pick<LastRefusal, 'repo' | 'user'>) {
  const hash = Number.parseInt(sha256Hex(`${repo}\n${user ?? ''}`).slice(0, 8), 16);
  return placeNames(hash % lastRefusalsMax);
}

/** Batches of a push come within this time of each other. */
const pushMs = 10 * 60_000;

function lastRefusalsIn(item: Fields): LastRefusal[] {
  return refusedPlaces.flatMap(({ refused, full }) => {
    if (item[refused] === undefined) return [];
    const last = refusedSchema.parse(item[refused]);
    const fullAtMs = Number(item[full] ?? Number.NEGATIVE_INFINITY);
    return [{ ...last, isAtLeast: last.atMs - fullAtMs < pushMs }];
  });
}

export const partitionOf = (tenant: string) => `HISTORY#${tenant}`;
const dayPrefix = 'DAY#';
const dayKey = (tenant: string, day: string) => ({ pk: partitionOf(tenant), sk: dayPrefix + day });
const sampleKey = (tenant: string) => ({ pk: partitionOf(tenant), sk: 'SAMPLE' });
const weeksKey = ({ tenant, repo }: RepoPath) => ({ pk: partitionOf(tenant), sk: `REPO#${inKey(repo)}` });

type Stored = Pick<Scanned, 'storedBytes' | 'objectCount'>;

/** What a reconcile found, for the day and the hour of its step. */
interface NotedCount extends Stored, Step {
  readonly tenant: string;
  /** What was stored before. Absent: it's looked up. */
  readonly carriedBytes?: number | undefined;
  /** The most that was stored since the reconcile before, as far as the two know. */
  readonly highestBytes: number;
  /** The same of what was stored and promised to uploads. */
  readonly highestUsedBytes: number;
  readonly limitBytes: number | null;
}

/** Batches of which something was refused. */
interface NotedRefusals extends Stored {
  readonly tenant: string;
  readonly atMs: number;
  /** The tenant's. */
  readonly limitBytes: number | null;
  /** Stored, and promised to uploads. */
  readonly usedBytes: number;
  /** Added to the day's refusals by the limit of `last`. */
  readonly count: number;
  readonly last: LastRefusal;
}

/**
 * A point for each day of each tenant, and for each week of each repo. It is no part of the ledger: nothing is decided by
 * it, and what is lost is made up for by the next reconcile. On the ledger's table: an item for each day and for each
 * repo, in a partition of its own for each tenant.
 */
export function createDynamoDbHistory(table: Table) {
  return methodsOn(table, {
    note,
    hasNoted,
    addRefusals,
    days,
    hours,
    bytesBefore,
    putSample,
    sample,
    noteWeek,
    weeks,
    forgetWeeks,
    forgetSome,
  });
}

export type History = ReturnType<typeof createDynamoDbHistory>;

/** Of the item as it is. A write of an older epoch that lands late changes nothing. */
const isNewest = '(attribute_not_exists(#epoch) OR #epoch <= :epoch)';

/** Steps of a day, as its item has them. */
function stepsIn(
  item: Fields | undefined,
  day: string,
): { epoch: number | undefined; hours: Map<number, Hour> } {
  const { epoch } = notedEpoch.parse(item ?? {});
  return { epoch, hours: hoursIn(item ?? {}, startOfDayMs(day)) };
}

/** Whether a step was noted, and the item of its day as it was read. @throws {LedgerUnavailableError} */
async function hasNoted(table: Table, { tenant, step }: { tenant: string; step: Step }) {
  const day = dayOf(step.atMs);
  const item = await getItem(table, dayKey(tenant, day));
  return { day, item, isNoted: hasStep(stepsIn(item, day), step) };
}

/**
 * An update can't take the larger of two numbers, or add to an hour what depends on its last step. So the day is read first,
 * and written if no other step was noted since. What is written in between by {@link addRefusals} was stored before this one.
 *
 * @param read the item of its day, if the caller has just read it. undefined: it hasn't.
 * @returns `older`: a newer epoch was noted on this day, and nothing changes. The same epoch may be noted twice.
 * @throws {LedgerUnavailableError}
 */
async function note(
  table: Table,
  count: NotedCount,
  read?: { readonly day: string; readonly item: Fields | undefined },
): Promise<'noted' | 'older'> {
  const { tenant, atMs, epoch, storedBytes, objectCount, highestBytes, highestUsedBytes, limitBytes } = count;
  const day = dayOf(atMs);
  const key = dayKey(tenant, day);
  let known = read?.day === day ? read : undefined;
  return untilWritten<'noted' | 'older'>(table, async () => {
    const { item } = known ?? { item: await getItem(table, key) };
    known = undefined;
    const steps = stepsIn(item, day);
    if (hasStep(steps, count)) return { result: steps.epoch === epoch ? 'noted' : 'older' };
    if (steps.epoch !== undefined && steps.epoch > epoch) return { result: 'older' };
    const { maxStoredBytes = 0, maxUsedBytes = 0 } = item ? dayItem.parse(item) : {};
    const hour = steps.hours.get(hourOf(atMs));
    const carried = hour?.lastBytes ?? count.carriedBytes ?? (await bytesBefore(table, count));
    const { ok } = await updateItem(table, {
      key,
      change: [
        setting({
          storedBytes,
          objectCount,
          maxStoredBytes: Math.max(maxStoredBytes, highestBytes),
          maxUsedBytes: Math.max(maxUsedBytes, highestUsedBytes),
          limitBytes,
          epoch,
          [hourField(hourOf(atMs))]: hourText(afterStep(hour, count, carried)),
          ...kept(atMs),
        }),
      ],
      condition: steps.epoch === undefined ? 'attribute_not_exists(#epoch)' : '#epoch = :epochRead',
      values: { ':epochRead': steps.epoch },
    });
    return ok ? { result: 'noted' } : undefined;
  });
}

/**
 * The hours that have a step, by their first moment, of whole days from one to another, both included.
 *
 * @returns `hasNoted`: whether a step of one of these days is among them.
 * @throws {LedgerUnavailableError}
 */
async function hours(table: Table, { tenant, from, to }: { tenant: string; from: string; to: string }) {
  const days = new Map<string, ReturnType<typeof stepsIn>>();
  const query = inPartition(partitionOf(tenant), { from: dayPrefix + from, to: dayPrefix + to });
  for await (const page of pagesOf(table, query))
    for (const item of page) {
      const day = String(item[keyNames.sk]).slice(dayPrefix.length);
      days.set(day, stepsIn(item, day));
    }
  return {
    hours: new Map([...days.values()].flatMap((of) => [...of.hours])),
    hasNoted: (step: Step) =>
      hasStep(days.get(dayOf(step.atMs)) ?? { epoch: undefined, hours: new Map() }, step),
  };
}

/**
 * What was stored at the end of the last hour with a step before that of a time. 0: there is none.
 *
 * @throws {LedgerUnavailableError}
 */
async function bytesBefore(
  table: Table,
  { tenant, atMs }: { tenant: string; atMs: number },
): Promise<number> {
  const query = inPartition(partitionOf(tenant), { from: dayPrefix, to: dayPrefix + dayOf(atMs) });
  for await (const page of pagesOf(table, { ...query, ScanIndexForward: false, Limit: daysAtOnce }))
    for (const item of page) {
      const all = [...hoursIn(item, startOfDayMs(String(item[keyNames.sk]).slice(dayPrefix.length)))];
      const last = all.filter(([startMs]) => startMs < hourOf(atMs)).at(-1);
      if (last) return last[1].lastBytes;
    }
  return 0;
}

/** The last day with a step is mostly the last one, or the one before. Those on which pushes were refused alone have none. */
const daysAtOnce = 2;

/**
 * Adds to the refusals of the day. What is stored is noted too if nothing was yet on this day.
 *
 * @throws {LedgerUnavailableError}
 */
async function addRefusals(table: Table, refused: NotedRefusals): Promise<void> {
  const { tenant, atMs, count, storedBytes, objectCount, usedBytes, limitBytes } = refused;
  const { isAtLeast, ...last } = refused.last;
  const place = refusedPlaceOf(last);
  const fields = { [place.refused]: last, ...(isAtLeast && { [place.full]: atMs }) };
  const defaults = { storedBytes, objectCount, maxStoredBytes: storedBytes, maxUsedBytes: usedBytes };
  await updateItem(table, {
    key: dayKey(tenant, dayOf(atMs)),
    change: [
      setting({ ...fields, limitBytes, ...kept(atMs) }, { defaults }),
      adding(last.limit === 'tenant' ? { refusals: count } : { repoRefusals: count }),
    ],
  });
}

const kept = (atMs: number) => expiring(atMs + historyDaysMax * dayMs);

/**
 * What was noted from one day to another, both included, by day. Eventually consistent.
 *
 * @throws {LedgerUnavailableError}
 */
async function days(
  table: Table,
  { tenant, from, to }: { tenant: string; from: string; to: string },
): Promise<readonly HistoryDay[]> {
  if (from > to) return [];
  const items = await firstItems(table, {
    ...inPartition(partitionOf(tenant), { from: dayPrefix + from, to: dayPrefix + to }),
    ConsistentRead: false,
    // The table removes old days some time later, if it does.
    Limit: 2 * historyDaysMax,
  });
  return items.map((item) => {
    const { sk, ...day } = dayItem.parse(item);
    const lastRefusals = lastRefusalsIn(item);
    return { day: sk.slice(dayPrefix.length), ...day, ...(lastRefusals.length > 0 && { lastRefusals }) };
  });
}

/**
 * Puts days that never were, of the demo alone. They are in an item of their own, which only what shows days reads: no
 * forecast, alert or e-mail is made from them.
 *
 * @throws {LedgerUnavailableError}
 */
async function putSample(
  table: Table,
  { tenant, days: made, atMs }: { tenant: string; days: readonly HistoryDay[]; atMs: number },
): Promise<void> {
  await putItem(table, { item: { ...sampleKey(tenant), days: made, ...kept(atMs) }, condition: absent });
}

/** What {@link putSample} has put. @throws {LedgerUnavailableError} */
async function sample(table: Table, tenant: string): Promise<readonly HistoryDay[]> {
  const item = await getItem(table, sampleKey(tenant));
  return item ? sampleItem.parse(item).days : [];
}

const notedWeek = z.tuple([z.number(), z.number()]);

/**
 * Notes what a repo stored at the end of a week. A repo has one item, and a week its place there: the one after
 * {@link historyWeeksMax} others takes it.
 *
 * @throws {LedgerUnavailableError}
 */
async function noteWeek(
  table: Table,
  noted: RepoPath & NotedWeek & { readonly epoch: number; readonly atMs: number },
): Promise<void> {
  const { epoch, week, storedBytes, atMs } = noted;
  await updateItem(table, {
    key: weeksKey(noted),
    change: [
      setting({
        [`week${week % historyWeeksMax}`]: [week, storedBytes],
        epoch,
        ...kept(atMs),
      }),
    ],
    condition: isNewest,
  });
}

/** What was noted of some repos, by name. Those of which nothing was are left out. @throws {LedgerUnavailableError} */
async function weeks(
  table: Table,
  { tenant, repos }: { tenant: string; repos: readonly string[] },
): Promise<ReadonlyMap<string, readonly NotedWeek[]>> {
  const names = new Map(repos.map((repo) => [weeksKey({ tenant, repo }).sk, repo]));
  const keys = repos.map((repo) => weeksKey({ tenant, repo }));
  const items = (await batchGet(table, keys)) as readonly Fields[];
  return new Map(
    items.map((item) => [
      names.get(String(item[keyNames.sk])) ?? '',
      Object.entries(item)
        .filter(([name]) => /^week\d/.test(name))
        .map(([, value]) => notedWeek.parse(value))
        .map(([week, storedBytes]) => ({ week, storedBytes })),
    ]),
  );
}

/** Removes what was noted of a repo. @throws {LedgerUnavailableError} */
async function forgetWeeks(table: Table, path: RepoPath): Promise<void> {
  await deleteItem(table, { key: weeksKey(path) });
}

/** Removes a part of all that was noted of a tenant. @throws {LedgerUnavailableError} */
async function forgetSome(
  table: Table,
  { tenant, itemsMax }: { tenant: string; itemsMax: number },
): Promise<{ readonly hasMore: boolean }> {
  const { hasMore } = await removeSome(table, inPartition(partitionOf(tenant)), { max: itemsMax });
  return { hasMore };
}
