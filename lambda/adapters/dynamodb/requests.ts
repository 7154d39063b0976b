import { LedgerUnavailableError } from '../../ports/ledger-errors.ts';
import { send, sendIf } from './client.ts';
import {
  absent,
  aliasesIn,
  type Clause,
  definedOf,
  type Fields,
  setting,
  updateExpression,
} from './expressions.ts';
import { keyNames } from './table.ts';
import type { TableClient } from './table-client.ts';
import { type Pausing, pauseByChance } from './until-written.ts';

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

/** Reads an item, strongly consistent. @throws {LedgerUnavailableError} */
export async function getItem(table: Table, key: Key): Promise<Fields | undefined> {
  const { client, tableName: TableName } = table;
  const output = await send(() => client.send('GetItem', { TableName, Key: key, ConsistentRead: true }));
  return output.Item;
}

/** Keys that one BatchGetItem takes. */
export const keysPerBatchMax = 100;
/** Answers in a row that leave all keys unprocessed, at most. */
const idleAnswersMax = 10;
/** Longest pause after the first one. It doubles with each further one. */
const unprocessedDelayMs = 10;
const unprocessedDelayMaxMs = 500;

/**
 * Reads items by key, strongly consistent and in any order. Asks again for keys that the table left unprocessed.
 *
 * @throws {LedgerUnavailableError}
 */
export async function batchGet(table: Table, keys: readonly Key[]): Promise<readonly unknown[]> {
  const { client, tableName, pauseUpTo = pauseByChance } = table;
  const found: unknown[] = [];
  const left: Fields[] = [...keys];
  for (let idle = 0; left.length > 0; ) {
    const Keys = left.splice(0, keysPerBatchMax);
    const output = await send(() =>
      client.send('BatchGetItem', { RequestItems: { [tableName]: { Keys, ConsistentRead: true } } }),
    );
    found.push(...(output.Responses?.[tableName] ?? []));
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

/**
 * Puts an item. One with the same key is replaced, so the condition usually is that it does not exist.
 *
 * @throws {LedgerUnavailableError}
 */
export async function putItem(
  table: Table,
  write: { item: Fields; condition: string; values?: Fields },
): Promise<{ ok: boolean }> {
  const { client, tableName: TableName } = table;
  const { ok } = await sendIf(() =>
    client.send('PutItem', {
      TableName,
      Item: write.item,
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
 * @throws {LedgerUnavailableError}
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
  return result.ok ? { ok: true, attributes: result.output.Attributes } : result;
}

/**
 * Deletes an item. One that does not exist is no error.
 *
 * @param write.returns `ALL_OLD`: the result holds the item as it was, or undefined if there was none.
 * @throws {LedgerUnavailableError}
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
  return result.ok ? { ok: true, attributes: result.output.Attributes } : result;
}

/**
 * Gives an item that an older version wrote the key by which this one looks for it. The copy is written before the
 * original is deleted by the key that was read: a death in between loses nothing, and whoever reads both meanwhile takes
 * them for the same.
 *
 * @param item as it was read, with its key. Nothing happens if that is this one.
 * @throws {LedgerUnavailableError}
 */
export async function moveToKey(table: Table, item: Fields, key: Key): Promise<void> {
  const { [keyNames.pk]: pk, [keyNames.sk]: sk, ...fields } = item;
  if (sk === key[keyNames.sk]) return;
  // By an update: the function that answers subscriptions recounts too, and has no right to put.
  await updateItem(table, { key, change: [setting(fields)], condition: absent });
  await deleteItem(table, { key: { pk: String(pk), sk: String(sk) } });
}

/** The defined placeholders; undefined if there are none, since DynamoDB refuses an empty map. */
function orNone(placeholders: Fields): Record<string, unknown> | undefined {
  const defined = definedOf(placeholders);
  return Object.keys(defined).length === 0 ? undefined : defined;
}
