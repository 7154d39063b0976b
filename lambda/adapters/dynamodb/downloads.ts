import * as z from 'zod';
import { dayOf, monthOf } from '../../domain/calendar.ts';
import type {
  DownloadMonth,
  DownloadPlace,
  DownloadSum,
  Downloads,
  PublicOffer,
} from '../../ports/downloads.ts';
import { adding, all, type Fields, setting } from './expressions.ts';
import { firstItems } from './pages.ts';
import { publicPartition } from './public-reads.ts';
import { batchGet, getItem, type Table, updateItem } from './requests.ts';
import { expiryAttribute, keyNames } from './table.ts';

/** So long days and months are kept. */
const keptMs = 400 * 24 * 60 * 60_000;

const sumItem = z.object({ bytes: z.number(), objects: z.number() });
const monthItem = sumItem.extend({ sk: z.string() }).catchall(z.unknown());
const dayItem = sumItem.extend({ day: z.string(), repo: z.string(), tokenId: z.string() });

/**
 * Away from the counter's partition: a busy day of downloads takes nothing from the uploads. One item takes a thousand
 * batches a second.
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

/** Downloads on the ledger's table: an item for each month, and one for each day, repo and token. */
export function createDynamoDbDownloads(table: Table): Downloads {
  return {
    meter: (offer) => {
      const { bytes, objects, atMs } = offer;
      const ofDay = dayAttributes(dayOf(atMs));
      const key = monthKey(offer.tenant, monthOf(atMs));
      return add(table, { key, offer, more: { [ofDay.bytes]: bytes, [ofDay.objects]: objects } });
    },
    addToDay: async (offer) => {
      const { tenant, repo, tokenId, atMs } = offer;
      const place = { day: dayOf(atMs), repo, tokenId };
      const key = { pk: partitionOf(tenant), sk: dayPrefix + textOf(place) };
      await add(table, { key, offer: { ...offer, limitBytes: null }, place });
    },
    meterPublic: (offer) => add(table, { key: publicMonthOf(offer), offer }),
    correctPublic: async (difference) => {
      await add(table, { key: publicMonthOf(difference), offer: { ...difference, limitBytes: null } });
    },
    publicMonth: (input) => readSum(table, publicMonthKey(input)),
    month: ({ tenant, month }) => readSum(table, monthKey(tenant, month)),
    months: (input) => readMonths(table, input),
    days: (input) => listDays(table, input),
  };
}

/** A condition of a write. */
interface Guard {
  readonly condition?: string;
  readonly values?: Readonly<Record<string, unknown>>;
}

/** That a sum stays within a limit. `never`: it cannot, whatever it is. A condition has no arithmetic. */
function belowLimit({ bytes, limitBytes }: { bytes: number; limitBytes: number | null }): Guard | 'never' {
  if (limitBytes === null) return {};
  const mostBefore = limitBytes - bytes;
  if (mostBefore < 0) return 'never';
  return {
    condition: 'attribute_not_exists(#bytes) OR #bytes <= :mostBefore',
    values: { ':mostBefore': mostBefore },
  };
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
  const { bytes, objects, atMs, writeId } = offer;
  const writer = writerAttribute(writeId);
  const guard = belowLimit(offer);
  if (guard === 'never') return 'over-limit';
  const isNew = `(attribute_not_exists(#${writer}) OR #${writer} <> :${writer})`;
  const { ok } = await updateItem(table, {
    key,
    change: [
      setting({ ...place, [expiryAttribute]: expiryOf(atMs), [writer]: writeId }),
      adding({ bytes, objects, ...more }),
    ],
    condition: guard.condition === undefined ? isNew : all(isNew, `(${guard.condition})`),
    ...(guard.values && { values: guard.values }),
  });
  if (ok || guard.condition === undefined) return 'metered';
  // Our own write may be what used the limit up: its answer was lost.
  const item = await getItem(table, key);
  return item?.[writer] === writeId ? 'metered' : 'over-limit';
}

const expiryOf = (atMs: number) => Math.ceil((atMs + keptMs) / 1000);

async function readSum(table: Table, key: ReturnType<typeof monthKey>): Promise<DownloadSum> {
  const item = await getItem(table, key);
  return item ? sumItem.parse(item) : { bytes: 0, objects: 0 };
}

async function readMonths(
  table: Table,
  { tenant, months }: { tenant: string; months: readonly string[] },
): Promise<readonly DownloadMonth[]> {
  const items = await batchGet(
    table,
    months.map((month) => monthKey(tenant, month)),
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

async function listDays(
  table: Table,
  input: Parameters<Downloads['days']>[0],
): ReturnType<Downloads['days']> {
  const { tenant, from, to, pageSize, after } = input;
  // A space sorts before, and a tilde after, whatever follows a day.
  const first = after && textOf(after) > from ? `${textOf(after)} ` : from;
  if (first > `${to}~`) return { days: [], next: null };
  const items = await firstItems(table, {
    KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :first AND :last',
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: {
      ':pk': partitionOf(tenant),
      ':first': dayPrefix + first,
      ':last': `${dayPrefix}${to}~`,
    },
    ConsistentRead: true,
    // One more than the page, to know whether another follows.
    Limit: pageSize + 1,
  });
  const days = items.slice(0, pageSize).map((item) => dayItem.parse(item));
  const last = items.length > pageSize ? days.at(-1) : undefined;
  return { days, next: last ?? null };
}
