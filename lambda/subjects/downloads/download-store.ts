import * as z from 'zod';
import { dayOf, monthOf } from '../../core/rules/dates.ts';
import type { Frozen } from '../../core/rules/stored.ts';
import { adding, all, type Fields, setting } from '../../core/table/expressions.ts';
import { pageOf } from '../../core/table/records.ts';
import {
  batchGet,
  firstItems,
  getItem,
  inPartition,
  methodsOn,
  type Table,
  updateItem,
} from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import { publicPartition } from './public-read-store.ts';

const sumItem = z.object({ bytes: z.number(), objects: z.number() });

/** How much was offered for download. */
type DownloadSum = Frozen<z.output<typeof sumItem>>;

const dayItem = sumItem.extend({
  /** In UTC, such as `2026-11-21`. */
  day: z.string(),
  repo: z.string(),
  tokenId: z.string(),
});

/** What one token was offered from one repo on one day. */
export type DownloadDay = Frozen<z.output<typeof dayItem>>;

/** Where a page of downloads ends. */
export type DownloadPlace = Pick<DownloadDay, 'day' | 'repo' | 'tokenId'>;

/** What was offered in a month, and on each of its days. */
interface DownloadMonth extends DownloadSum {
  /** In UTC, such as `2026-11`. */
  readonly month: string;
  /** By day, such as `2026-11-21`. One that is missing had none, if the others sum up to the month. */
  readonly days: ReadonlyMap<string, DownloadSum>;
}

/** What a batch offers. */
interface DownloadOffer extends DownloadSum {
  readonly tenant: string;
  readonly repo: string;
  readonly tokenId: string;
  readonly atMs: number;
  /** Random. A write that is repeated with the same one counts once. */
  readonly writeId: string;
}

/** What anybody is offered of a public repo. A correction of it may be negative. */
export type PublicOffer = Omit<DownloadOffer, 'tokenId'>;

/** So long days and months are kept. */
export const downloadsKeptMs = 400 * 24 * 60 * 60_000;

const monthItem = sumItem.extend({ sk: z.string() }).catchall(z.unknown());

/**
 * Away from the counter's partition: a busy day of downloads takes nothing from the uploads. One item takes 1,000
 * batches/s. Above that, it counts too low without a limit, and batches wait with one.
 */
const partitionOf = (tenant: string) => `DOWNLOADS#${tenant}`;
const monthPrefix = 'MONTH#';
const monthKey = (tenant: string, month: string) => ({ pk: partitionOf(tenant), sk: monthPrefix + month });
/** The attributes of the month's item for a day. With all of them, and the writers, it stays below 1 KB: one write unit. */
const dayAttributes = (day: string) => ({ bytes: `b${day.slice(-2)}`, objects: `o${day.slice(-2)}` });
/** Not beside the others: strangers who are over a ceiling must not slow down those who have a token. */
const publicMonthKey = (of: { tenant: string; repo: string; month: string }) => ({
  pk: publicPartition(of.tenant),
  sk: `MONTH#${of.month}#${of.repo}`,
});
const dayPrefix = 'DAY#';
const textOf = ({ day, repo, tokenId }: DownloadPlace) => `${day}#${repo}#${tokenId}`;

/**
 * What was offered for download: by tenant and month, and by day, repo and token. Offered is not transferred: what is asked
 * for again counts again, and a URL that is used twice counts once. On the ledger's table: an item for each month, and one
 * for each day, repo and token.
 */
export function createDynamoDbDownloads(table: Table) {
  return methodsOn(table, { meter, addToDay, meterPublic, correctPublic, publicMonth, month, months, days });
}

export type Downloads = ReturnType<typeof createDynamoDbDownloads>;

/**
 * Adds what a batch is about to offer to the month.
 *
 * @param offer.limitBytes of the month. null: unlimited. What would exceed it is not added.
 * @throws {LedgerUnavailableError} It may have been added.
 */
function meter(
  table: Table,
  offer: DownloadOffer & { readonly limitBytes: number | null },
): Promise<'metered' | 'over-limit'> {
  const { bytes, objects, atMs } = offer;
  const ofDay = dayAttributes(dayOf(atMs));
  const key = monthKey(offer.tenant, monthOf(atMs));
  return add(table, { key, offer, more: { [ofDay.bytes]: bytes, [ofDay.objects]: objects } });
}

/** Adds what a batch offers to its day, repo and token. @throws {LedgerUnavailableError} It may have been added. */
async function addToDay(table: Table, offer: DownloadOffer): Promise<void> {
  const { tenant, repo, tokenId, atMs } = offer;
  const place = { day: dayOf(atMs), repo, tokenId };
  const key = { pk: partitionOf(tenant), sk: dayPrefix + textOf(place) };
  await add(table, { key, offer: { ...offer, limitBytes: null }, place });
}

/**
 * Adds what anybody, without a token, is about to be offered of a repo: to the sum that the repo's ceiling is compared
 * with, and to nothing else.
 *
 * @param offer.limitBytes the ceiling. null: unlimited. What would exceed it is not added.
 * @throws {LedgerUnavailableError} It may have been added.
 */
function meterPublic(
  table: Table,
  offer: PublicOffer & { readonly limitBytes: number | null },
): Promise<'metered' | 'over-limit'> {
  return add(table, { key: publicMonthOf(offer), offer });
}

/** Takes off what was not offered after all. @throws {LedgerUnavailableError} */
async function correctPublic(table: Table, difference: PublicOffer): Promise<void> {
  await add(table, { key: publicMonthOf(difference), offer: { ...difference, limitBytes: null } });
}

/** What anybody was offered of a repo in a month. Strongly consistent. @throws {LedgerUnavailableError} */
function publicMonth(
  table: Table,
  input: { tenant: string; repo: string; month: string },
): Promise<DownloadSum> {
  return readSum(table, publicMonthKey(input));
}

/** What was offered in a month, such as `2026-11`. Strongly consistent. @throws {LedgerUnavailableError} */
function month(table: Table, input: { tenant: string; month: string }): Promise<DownloadSum> {
  return readSum(table, monthKey(input.tenant, input.month));
}

const publicMonthOf = ({ tenant, repo, atMs }: PublicOffer) =>
  publicMonthKey({ tenant, repo, month: monthOf(atMs) });

const writersMax = 16;

/**
 * Where an item keeps the id of a write: some ids, so that others in between rarely replace one before it is asked for.
 */
export const writerAttribute = (writeId: string) => `w${(writeId.charCodeAt(0) % writersMax).toString(36)}`;

/**
 * Adds to the sums of an item, once however often the write is repeated after a lost answer. If another write took the place
 * of its id in between, which needs two writes at nearly the same time, it is added again.
 */
async function add(
  table: Table,
  input: {
    key: ReturnType<typeof monthKey>;
    offer: PublicOffer & { limitBytes: number | null };
    more?: Readonly<Record<string, number>>;
    place?: Fields;
  },
): Promise<'metered' | 'over-limit'> {
  const { key, offer, more = {}, place = {} } = input;
  const { bytes, objects, atMs, writeId, limitBytes } = offer;
  const writer = writerAttribute(writeId);
  if (limitBytes !== null && bytes > limitBytes) return 'over-limit';
  const isNew = `(attribute_not_exists(#${writer}) OR #${writer} <> :${writer})`;
  const { ok } = await updateItem(table, {
    key,
    change: [setting({ ...place, ...kept(atMs), [writer]: writeId }), adding({ bytes, objects, ...more })],
    ...(limitBytes === null
      ? { condition: isNew }
      : // A condition has no arithmetic.
        { condition: all(isNew, fits), values: { ':mostBefore': limitBytes - bytes } }),
  });
  if (ok || limitBytes === null) return 'metered';
  // Our own write may be what used the limit up: its answer was lost.
  const item = await getItem(table, key);
  return item?.[writer] === writeId ? 'metered' : 'over-limit';
}

const fits = '(attribute_not_exists(#bytes) OR #bytes <= :mostBefore)';

const kept = (atMs: number) => expiring(atMs + downloadsKeptMs);

async function readSum(table: Table, key: ReturnType<typeof monthKey>): Promise<DownloadSum> {
  const item = await getItem(table, key);
  return item ? sumItem.parse(item) : { bytes: 0, objects: 0 };
}

/** The same of several months, with their days. Months without any are left out. @throws {LedgerUnavailableError} */
async function months(
  table: Table,
  input: { tenant: string; months: readonly string[] },
): Promise<readonly DownloadMonth[]> {
  const items = await batchGet(
    table,
    input.months.map((month) => monthKey(input.tenant, month)),
  );
  return items
    .map((item) => {
      const { sk, bytes, objects, ...others } = monthItem.parse(item);
      const month = sk.slice(monthPrefix.length);
      return { month, bytes, objects, days: daysIn(month, others) };
    })
    .sort((a, b) => (a.month < b.month ? -1 : 1));
}

function daysIn(month: string, attributes: Readonly<Record<string, unknown>>): DownloadMonth['days'] {
  const sums = new Map<string, DownloadSum>();
  for (let number = 1; number <= 31; number += 1) {
    const day = `${month}-${String(number).padStart(2, '0')}`;
    const names = dayAttributes(day);
    const [bytes, objects] = [attributes[names.bytes], attributes[names.objects]];
    if (typeof bytes === 'number' && typeof objects === 'number') sums.set(day, { bytes, objects });
  }
  return sums;
}

/**
 * A page of what was offered from one day to another, both included, by day, repo and token.
 *
 * @param input.after `next` of the page before, or any other place.
 * @throws {LedgerUnavailableError}
 */
async function days(
  table: Table,
  input: { tenant: string; from: string; to: string; pageSize: number; after?: DownloadPlace },
): Promise<{ readonly days: readonly DownloadDay[]; readonly next: DownloadPlace | null }> {
  const { tenant, from, to, pageSize, after } = input;
  // A space sorts before, and a tilde after, whatever follows a day.
  const first = after && textOf(after) > from ? `${textOf(after)} ` : from;
  if (first > `${to}~`) return { days: [], next: null };
  const items = await firstItems(table, {
    ...inPartition(partitionOf(tenant), { from: dayPrefix + first, to: `${dayPrefix}${to}~` }),
    // One more than the page, to know whether another follows.
    Limit: pageSize + 1,
  });
  const { page, last = null } = pageOf(
    items.map((item) => dayItem.parse(item)),
    pageSize,
  );
  return { days: page, next: last };
}
