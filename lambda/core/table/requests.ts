import { LedgerUnavailableError } from '../rules/errors.ts';
import { send, sendIf } from './client.ts';
import {
  absent,
  aliasesIn,
  type Clause,
  definedOf,
  type Fields,
  removing,
  setting,
  updateExpression,
} from './expressions.ts';
import { fromStored, stored } from './stored-names.ts';
import { byKindIndex, keyNames, type Query, type TableClient, tenantKey } from './table.ts';

/** Requests to the table. All throw {@link LedgerUnavailableError}; a write may have landed then. */

/** How a request waits before it is sent again. */
interface Pausing {
  /** Waits for as long as chance has it. Default: by Node's timers. */
  readonly pauseUpTo?: (atMostMs: number) => Promise<void>;
}

/** Of some that change an item at the same time, one succeeds in each round. */
const attemptsMax = 30;
/** Longest pause before the second attempt. It doubles with each further one. */
const baseDelayMs = 10;
const delayMaxMs = 500;

/**
 * Reads an item and writes what becomes of it, again until nobody else has written it in between.
 *
 * @param attempt undefined: somebody else has.
 * @throws {LedgerUnavailableError} if somebody else always has.
 */
export async function untilWritten<T>(
  { pauseUpTo = pauseByChance }: Pausing,
  attempt: () => Promise<{ readonly result: T } | undefined>,
): Promise<T> {
  for (let number = 1; number <= attemptsMax; number += 1) {
    const done = await attempt();
    if (done !== undefined) return done.result;
    await pauseUpTo(Math.min(delayMaxMs, baseDelayMs * 2 ** (number - 1)));
  }
  throw new LedgerUnavailableError(`An item was changed by others in each of ${attemptsMax} attempts.`);
}

interface ChangedItem {
  readonly item: Fields | undefined;
  readonly isChanged: boolean;
}

/**
 * Changes an item by a function of it, as if nobody else changed it at the same time: it's read and asked again if
 * somebody did. Its `version` is counted here. By an update: some functions have no right to put.
 *
 * @param change gets the item, undefined: there is none. Its fields are set, and those that are undefined removed. Others
 *   stay. It answers undefined to leave the item as it is.
 * @returns the item as it is now, and whether it was changed.
 * @throws {LedgerUnavailableError} It may have been changed.
 */
export async function changeItem(
  table: Table,
  key: Key,
  change: (item: Fields | undefined) => Fields | undefined,
): Promise<ChangedItem> {
  const writeId = newWriteId();
  return await untilWritten<ChangedItem>(table, async () => {
    const item = await getItem(table, key);
    // The answer to an earlier attempt was lost. Its change must not be made twice.
    if (item?.['writeId'] === writeId) return { result: { item, isChanged: true } };
    const changed = change(item);
    if (changed === undefined) return { result: { item, isChanged: false } };
    const before = item?.['version'];
    const fields = { ...changed, version: Number(before ?? 0) + 1, writeId };
    const removed = Object.keys(changed).filter((name) => changed[name] === undefined);
    const { ok } = await updateItem(table, {
      key,
      change: [setting(fields), removing(...removed)],
      condition: before === undefined ? 'attribute_not_exists(#version)' : '#version = :before',
      values: { ':before': before },
    });
    return ok ? { result: { item: { ...item, ...fields }, isChanged: true } } : undefined;
  });
}

const pauseByChance = (atMostMs: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, Math.random() * atMostMs));

/** Tells one write from another, so that a client finds its own after a lost answer. */
export function newWriteId(): string {
  return crypto.randomUUID();
}

/** A table and the client that reaches it. */
export interface Table extends Pausing {
  readonly client: TableClient;
  readonly tableName: string;
}

type OnTable = Readonly<Record<string, (table: Table, ...input: never) => unknown>>;

type Bound<F extends OnTable> = {
  [Name in keyof F]: F[Name] extends (table: Table, ...input: infer Input) => infer Output
    ? (...input: Input) => Output
    : never;
};

/** Methods of a store: functions whose first parameter is the table, without it. */
export function methodsOn<F extends OnTable>(table: Table, functions: F): Bound<F> {
  const bound = Object.entries(functions).map(([name, call]) => [
    name,
    (...input: never) => call(table, ...input),
  ]);
  return Object.fromEntries(bound) as Bound<F>;
}

type Key = Readonly<Record<string, string>>;

/** `ok: false`: the condition failed, and nothing was written. */
type WriteResult = { ok: true; attributes: Fields | undefined } | { ok: false };

interface ConditionalWrite {
  readonly key: Key;
  readonly condition?: string;
  /** `:name` → value for the condition. Undefined ones are left out. */
  readonly values?: Fields;
  /** `#alias` → name, for aliases in the condition that are no attribute's name. */
  readonly keys?: Readonly<Record<string, string>>;
}

/** Reads an item, strongly consistent. */
export async function getItem(table: Table, key: Key): Promise<Fields | undefined> {
  const { client, tableName: TableName } = table;
  const output = await send(() => client.send('GetItem', { TableName, Key: key, ConsistentRead: true }));
  return output.Item && fromStored(output.Item);
}

/** Keys that one BatchGetItem takes. */
export const keysPerBatchMax = 100;
/** Answers in a row that leave all keys unprocessed, at most. */
const idleAnswersMax = 10;
/** Longest pause after the first one. It doubles with each further one. */
const unprocessedDelayMs = 10;
const unprocessedDelayMaxMs = 500;

/** Reads items by key, strongly consistent and in any order. Asks again for keys that the table left unprocessed. */
export async function batchGet(table: Table, keys: readonly Key[]): Promise<readonly unknown[]> {
  const { client, tableName, pauseUpTo = pauseByChance } = table;
  const found: unknown[] = [];
  const left: Fields[] = [...keys];
  for (let idle = 0; left.length > 0; ) {
    const Keys = left.splice(0, keysPerBatchMax);
    const output = await send(() =>
      client.send('BatchGetItem', { RequestItems: { [tableName]: { Keys, ConsistentRead: true } } }),
    );
    found.push(...(output.Responses?.[tableName] ?? []).map(fromStored));
    const unprocessed = output.UnprocessedKeys?.[tableName]?.Keys ?? [];
    left.push(...unprocessed);
    idle = unprocessed.length < Keys.length ? 0 : idle + 1;
    if (idle >= idleAnswersMax)
      throw new LedgerUnavailableError('The table keeps leaving keys of a BatchGetItem unprocessed.');
    // It leaves some if it is throttled, or if the answer would be too large: then a short pause does no harm.
    if (unprocessed.length > 0)
      await pauseUpTo(Math.min(unprocessedDelayMaxMs, unprocessedDelayMs * 2 ** idle));
  }
  return found;
}

/** Puts an item. One with the same key is replaced, so the condition usually is that it does not exist. */
export async function putItem(
  table: Table,
  write: { item: Fields; condition: string; values?: Fields },
): Promise<{ ok: boolean }> {
  const { client, tableName: TableName } = table;
  const { ok } = await sendIf(() =>
    client.send('PutItem', {
      TableName,
      Item: stored(write.item),
      ConditionExpression: write.condition,
      ExpressionAttributeNames: aliasesIn(write.condition),
      ExpressionAttributeValues: orNone(write.values ?? {}),
    }),
  );
  return { ok };
}

/**
 * Updates an item. Creates it if it does not exist and the condition allows that.
 *
 * @param write.returns which attributes the result holds; none if left out.
 */
export async function updateItem(
  table: Table,
  write: ConditionalWrite & {
    change: readonly Clause[];
    returns?: 'ALL_OLD' | 'ALL_NEW';
  },
): Promise<WriteResult> {
  const change = updateExpression(write.change);
  const keys: Record<string, string> = Object.assign({}, ...write.change.map((clause) => clause.keys));
  const values: Fields = Object.assign({}, ...write.change.map((clause) => clause.values));
  const result = await sendIf(() =>
    table.client.send('UpdateItem', {
      TableName: table.tableName,
      Key: write.key,
      UpdateExpression: change,
      ConditionExpression: write.condition,
      ExpressionAttributeNames: {
        ...aliasesIn(`${change} ${write.condition ?? ''}`),
        ...keys,
        ...write.keys,
      },
      ExpressionAttributeValues: orNone({ ...values, ...write.values }),
      ReturnValues: write.returns,
    }),
  );
  return result.ok ? { ok: true, attributes: attributesOf(result.output) } : result;
}

/**
 * Deletes an item. One that does not exist is no error.
 *
 * @param write.returns `ALL_OLD`: the result holds the item as it was, or undefined if there was none.
 */
export async function deleteItem(
  table: Table,
  write: ConditionalWrite & { returns?: 'ALL_OLD' },
): Promise<WriteResult> {
  const result = await sendIf(() =>
    table.client.send('DeleteItem', {
      TableName: table.tableName,
      Key: write.key,
      ConditionExpression: write.condition,
      ExpressionAttributeNames: write.condition === undefined ? undefined : aliasesIn(write.condition),
      ExpressionAttributeValues: orNone(write.values ?? {}),
      ReturnValues: write.returns,
    }),
  );
  return result.ok ? { ok: true, attributes: attributesOf(result.output) } : result;
}

/**
 * Gives an item that an older version wrote the key by which this one looks for it. The copy is written before the
 * original is deleted by the key that was read: a death in between loses nothing, and whoever reads both meanwhile takes
 * them for the same.
 *
 * @param item as it was read, with its key. Nothing happens if that is this one.
 */
export async function moveToKey(table: Table, item: Fields, key: Key): Promise<void> {
  const { [keyNames.pk]: pk, [keyNames.sk]: sk, ...fields } = item;
  if (sk === key[keyNames.sk]) return;
  // By an update: the function that answers subscriptions reconciles too, and has no right to put.
  await updateItem(table, { key, change: [setting(fields)], condition: absent });
  await deleteItem(table, { key: { pk: String(pk), sk: String(sk) } });
}

function attributesOf({ Attributes }: { Attributes?: Fields | undefined }): Fields | undefined {
  return Attributes && fromStored(Attributes);
}

/** The defined placeholders; undefined if there are none, since DynamoDB refuses an empty map. */
function orNone(placeholders: Fields): Record<string, unknown> | undefined {
  const defined = definedOf(placeholders);
  return Object.keys(defined).length === 0 ? undefined : defined;
}

/** What a query finds, a page at a time. The next page is read when the caller asks for it. */
export async function* pagesOf(
  table: Table,
  query: Query,
): AsyncIterable<readonly Record<string, unknown>[]> {
  let startKey: Record<string, unknown> | undefined;
  do {
    const output = await send(() =>
      table.client.send('Query', { ...query, TableName: table.tableName, ExclusiveStartKey: startKey }),
    );
    yield (output.Items ?? []).map(fromStored);
    startKey = output.LastEvaluatedKey;
  } while (startKey);
}

/**
 * The query for the items of a partition: all, those whose sort keys begin with `prefix`, or those from one key to another.
 * Strongly consistent.
 */
export function inPartition(
  pk: string,
  { prefix, from, to }: { prefix?: string; from?: string; to?: string } = {},
) {
  const conditions = ['#pk = :pk'];
  if (prefix !== undefined) conditions.push('begins_with(#sk, :prefix)');
  if (from !== undefined) conditions.push('#sk BETWEEN :from AND :to');
  const condition = conditions.join(' AND ');
  return {
    KeyConditionExpression: condition,
    ExpressionAttributeNames: aliasesIn(condition),
    ExpressionAttributeValues: definedOf({ ':pk': pk, ':prefix': prefix, ':from': from, ':to': to }),
    ConsistentRead: true,
  } as const;
}

/**
 * The query for a kind's items in the by-kind index: all, or those after or before a sort key, or between two that no item has. It
 * finds their keys alone.
 * Eventually consistent: one that has just changed may be among them, or missing.
 */
export function ofKind(kind: string, { after, before }: { after?: string; before?: string } = {}) {
  const conditions = [`#${byKindIndex.pk} = :kind`];
  if (after !== undefined && before !== undefined)
    conditions.push(`#${byKindIndex.sk} BETWEEN :after AND :before`);
  else if (after !== undefined) conditions.push(`#${byKindIndex.sk} > :after`);
  else if (before !== undefined) conditions.push(`#${byKindIndex.sk} < :before`);
  const condition = conditions.join(' AND ');
  return {
    IndexName: byKindIndex.name,
    KeyConditionExpression: condition,
    ExpressionAttributeNames: aliasesIn(condition),
    ExpressionAttributeValues: definedOf({ ':kind': kind, ':after': after, ':before': before }),
  } as const;
}

/**
 * All items of a tenant whose sort keys begin with `prefix`, strongly consistent, a page at a time.
 *
 * @param input.until only those whose keys are no greater than this, which begins with `prefix`.
 */
export function itemsBelow(
  table: Table,
  { tenant, prefix, until }: { tenant: string; prefix: string; until?: string },
): AsyncIterable<readonly Record<string, unknown>[]> {
  const keys = until === undefined ? { prefix } : { from: prefix, to: until };
  return pagesOf(table, inPartition(tenantKey(tenant).pk, keys));
}

/**
 * The query for a tenant's items whose sort keys begin with `prefix`, strongly consistent, from one of them on.
 *
 * @param input.prefix ends with `#`.
 * @param input.after a sort key with that prefix, whether or not there is such an item. Default: from the first on.
 * @param input.before up to a sort key that no item has. Default: to the last one.
 */
export function keysAfter(input: {
  tenant: string;
  prefix: string;
  after?: string | undefined;
  before?: string | undefined;
}) {
  const { tenant, prefix, after, before } = input;
  return inPartition(tenantKey(tenant).pk, {
    // Both ends of BETWEEN are included, so it begins right after the key of `after`.
    from: after === undefined ? prefix : `${after}\u0000`,
    // `$` is the character after `#`: whatever follows the prefix, it comes before this, and no item is at it.
    to: before ?? `${prefix.slice(0, -1)}$`,
  });
}

/**
 * One answer to a query: at most its `Limit`, and at most 1 MB of items.
 *
 * @returns the items, and whether more may follow.
 */
export async function onePage(
  table: Table,
  query: Query & { Limit: number },
): Promise<{ items: readonly Record<string, unknown>[]; hasMore: boolean }> {
  const output = await send(() => table.client.send('Query', { ...query, TableName: table.tableName }));
  return { items: (output.Items ?? []).map(fromStored), hasMore: output.LastEvaluatedKey !== undefined };
}

/** All that a query finds: of what gives rights, none may be hidden. Requests at the same time can pass its bound. */
export async function allItems(table: Table, query: Query): Promise<readonly Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for await (const items of pagesOf(table, query)) found.push(...items);
  return found;
}

/** The first items of a query, at most its `Limit`, whatever pages they come in. */
export async function firstItems(
  table: Table,
  query: Query & { Limit: number },
): Promise<readonly Record<string, unknown>[]> {
  const { Limit: countMax, ...unlimited } = query;
  const found: Record<string, unknown>[] = [];
  // What a filter leaves out counts to DynamoDB's limit: a page of a few would be nearly empty.
  for await (const items of pagesOf(table, query.FilterExpression === undefined ? query : unlimited)) {
    found.push(...items);
    if (found.length >= countMax) break;
  }
  return found.slice(0, countMax);
}
