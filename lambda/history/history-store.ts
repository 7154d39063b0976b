import * as z from 'zod';
import type { Scanned } from '../ledger/rules/tenant.ts';
import { dayMs, dayOf } from '../rules/dates.ts';
import { sha256Hex } from '../rules/hash.ts';
import { adding, all, setting } from '../table/expressions.ts';
import { deleteItem, firstItems, methodsOn, type Table, updateItem } from '../table/requests.ts';
import { expiryAttribute, keyNames } from '../table/table.ts';
import { type HistoryDay, historyDaysMax, type LastRefusal, lastRefusalsMax } from './rules/history.ts';

const dayItem = z.object({
  sk: z.string(),
  storedBytes: z.number(),
  objectCount: z.number(),
  maxStoredBytes: z.number(),
  refusals: z.number().default(0),
});

const refusedItem = z.object({
  atMs: z.number(),
  repo: z.string(),
  user: z.string().nullable(),
  files: z.number(),
  bytes: z.number(),
  shortBytes: z.number(),
  limit: z.enum(['tenant', 'repo']),
});

/**
 * An item has as many places for refused pushes. One write must replace a push's retries without a read, so a push has a
 * place by its repo and user: two that share one leave the later.
 */
const refusedPlaces = Array.from({ length: lastRefusalsMax }, (_, place) => `refused${place}`);

function refusedPlaceOf({ repo, user }: LastRefusal): string {
  const hash = Number.parseInt(sha256Hex(`${repo}\n${user ?? ''}`).slice(0, 8), 16);
  return `refused${hash % lastRefusalsMax}`;
}

/** Days of one request that are removed at a time. */
const removedAtOnce = 16;

const partitionOf = (tenant: string) => `HISTORY#${tenant}`;
const dayPrefix = 'DAY#';
const dayKey = (tenant: string, day: string) => ({ pk: partitionOf(tenant), sk: dayPrefix + day });

type Stored = Pick<Scanned, 'storedBytes' | 'objectCount'>;

/** What a reconcile found, for the day on which it ended. */
interface NotedCount extends Stored {
  readonly tenant: string;
  readonly atMs: number;
  /** The epoch of the reconcile that committed it. */
  readonly epoch: number;
  /** The most that was stored since the reconcile before, as far as the two know. */
  readonly highestBytes: number;
}

/** Batches of which something was refused. */
interface NotedRefusals extends Stored {
  readonly tenant: string;
  readonly atMs: number;
  /** Added to the day's refusals. 0: it was a repo's limit, which says nothing of the tenant. */
  readonly count: number;
  readonly last: LastRefusal;
}

/**
 * A point for each day of each tenant. It is no part of the ledger: nothing is decided by it, and what is lost is made up
 * for by the next reconcile. On the ledger's table: an item for each day, in a partition of its own for each tenant.
 */
export function createDynamoDbHistory(table: Table) {
  return methodsOn(table, { note, addRefusals, days, forgetSome });
}

export type History = ReturnType<typeof createDynamoDbHistory>;

/**
 * An update cannot take the larger of two numbers. So the first write is for a count that is the day's highest, which most
 * are, and the second one for a count that is not: two write units at most.
 *
 * @returns `older`: a newer epoch was noted on this day, and nothing changes. The same epoch may be noted twice.
 * @throws {LedgerUnavailableError}
 */
async function note(table: Table, count: NotedCount): Promise<'noted' | 'older'> {
  const { tenant, atMs, epoch, storedBytes, objectCount, highestBytes } = count;
  const key = dayKey(tenant, dayOf(atMs));
  const found = { storedBytes, objectCount, epoch, [expiryAttribute]: expiryOf(atMs) };
  const isNewest = '(attribute_not_exists(#epoch) OR #epoch <= :epoch)';
  const asHighest = await updateItem(table, {
    key,
    change: [setting({ ...found, maxStoredBytes: highestBytes })],
    condition: all(isNewest, '(attribute_not_exists(#maxStoredBytes) OR #maxStoredBytes <= :maxStoredBytes)'),
  });
  if (asHighest.ok) return 'noted';
  const below = await updateItem(table, { key, change: [setting(found)], condition: isNewest });
  return below.ok ? 'noted' : 'older';
}

/**
 * Adds to the refusals of the day. What is stored is noted too if nothing was yet on this day.
 *
 * @throws {LedgerUnavailableError}
 */
async function addRefusals(table: Table, refused: NotedRefusals): Promise<void> {
  const { tenant, atMs, count, storedBytes, objectCount, last } = refused;
  const defaults = { storedBytes, objectCount, maxStoredBytes: storedBytes };
  await updateItem(table, {
    key: dayKey(tenant, dayOf(atMs)),
    change: [
      setting({ [expiryAttribute]: expiryOf(atMs), [refusedPlaceOf(last)]: last }, { defaults }),
      adding({ refusals: count }),
    ],
  });
}

const expiryOf = (atMs: number) => Math.ceil((atMs + historyDaysMax * dayMs) / 1000);

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
    KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :first AND :last',
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: {
      ':pk': partitionOf(tenant),
      ':first': dayPrefix + from,
      ':last': dayPrefix + to,
    },
    // The table removes old days some time later, if it does.
    Limit: 2 * historyDaysMax,
  });
  return items.map((item) => {
    const { sk, ...day } = dayItem.parse(item);
    const lastRefusals = refusedPlaces.flatMap((place) =>
      item[place] === undefined ? [] : [refusedItem.parse(item[place])],
    );
    return { day: sk.slice(dayPrefix.length), ...day, ...(lastRefusals.length > 0 && { lastRefusals }) };
  });
}

/** Removes a part of all that was noted of a tenant. @throws {LedgerUnavailableError} */
async function forgetSome(
  table: Table,
  { tenant, daysMax }: { tenant: string; daysMax: number },
): Promise<{ readonly hasMore: boolean }> {
  const items = await firstItems(table, {
    KeyConditionExpression: '#pk = :pk',
    ExpressionAttributeNames: { '#pk': keyNames.pk },
    ExpressionAttributeValues: { ':pk': partitionOf(tenant) },
    ConsistentRead: true,
    Limit: daysMax + 1,
  });
  const removed = items.slice(0, daysMax);
  for (let first = 0; first < removed.length; first += removedAtOnce) {
    const some = removed.slice(first, first + removedAtOnce);
    await Promise.all(
      some.map((item) =>
        deleteItem(table, { key: { pk: partitionOf(tenant), sk: String(item[keyNames.sk]) } }),
      ),
    );
  }
  return { hasMore: items.length > daysMax };
}
