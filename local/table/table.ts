import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import {
  byDueIndex,
  expiryAttribute,
  keyNames,
  type Operations,
  type TableClient,
} from '../../lambda/core/table/table.ts';
import {
  type Condition,
  checkUpdate,
  ExpressionError,
  endsOf,
  evaluate,
  holds,
  type Item,
  type Operand,
  parseCondition,
  updated,
} from './expression.ts';
import {
  entryOf,
  type Index,
  type ItemStore,
  indexes,
  itemBytes,
  type Key,
  keyOf,
  type Range,
  stored,
} from './items.ts';

/** DynamoDB's limits: docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html. */
const itemBytesMaxDefault = 400 * 1024;
const expressionBytesMax = 4096;
const partitionKeyBytesMax = 2048;
const sortKeyBytesMax = 1024;
const pageBytesMax = 1024 ** 2;
const batchKeysMax = 100;
const batchBytesMax = 16 * 1024 ** 2;

/** Items that are read at once to fill a page. */
const readAtOnce = 100;

/** Limits that a test sets lower than DynamoDB's. */
export interface TableLimits {
  /** Items of a query's answer: with few of them much can happen between two answers. */
  readonly pageItemsMax?: number;
  readonly itemBytesMax?: number;
}

type Input<O extends keyof Operations> = Operations[O][0];
type Output<O extends keyof Operations> = Operations[O][1];
type Write = Input<'PutItem'> | Input<'UpdateItem'> | Input<'DeleteItem'>;

const keyAttributes = new Set<string>(indexes.flatMap(({ pk, sk }) => [pk, sk]));
const none: Item = {};

/**
 * DynamoDB's table in this process, as far as lambda/ uses one: operations, conditions,
 * updates, indexes and limits. Each change of an item is one atomic step. The engines lane compares it with DynamoDB
 * Local.
 */
export class LocalTable implements TableClient {
  readonly #store: ItemStore;
  readonly #limits: Required<TableLimits>;

  constructor(store: ItemStore, limits: TableLimits = {}) {
    this.#store = store;
    this.#limits = { pageItemsMax: Number.POSITIVE_INFINITY, itemBytesMax: itemBytesMaxDefault, ...limits };
  }

  /** What is answered is kept: an item that was read, a write, and a condition that another write made fail. */
  async send<O extends keyof Operations>(operation: O, input: Operations[O][0]): Promise<Operations[O][1]> {
    try {
      if (operation === 'Query') return (await this.#query(input as Input<'Query'>)) as Output<O>;
      // Nothing may come between this and the look at what is kept: it is that of another moment then.
      return this.#perform(operation, input as never) as Output<O>;
    } catch (error) {
      throw error instanceof ExpressionError ? invalid(error.message) : error;
    } finally {
      // Of a query, the store waits for what it reads.
      const kept = this.#store.kept(keysOf(input));
      if (kept !== undefined) await kept;
    }
  }

  /**
   * Removes what has expired, as DynamoDB's TTL does.
   *
   * @returns how many items expired: fewer than `countMax` if nothing is left.
   */
  async removeExpired({ beforeMs, countMax }: { beforeMs: number; countMax: number }): Promise<number> {
    const beforeS = Math.floor(beforeMs / 1000);
    const keys = await this.#store.expired(beforeS, countMax);
    for (const key of keys) {
      const before = this.#store.find(key);
      const expiresAt = before?.[expiryAttribute];
      // It may have been renewed since.
      if (typeof expiresAt === 'number' && expiresAt < beforeS)
        this.#store.write({ key, before, after: undefined });
    }
    await this.#store.kept(keys);
    return keys.length;
  }

  #perform(operation: Exclude<keyof Operations, 'Query'>, input: never): object {
    switch (operation) {
      case 'GetItem':
        return this.#getItem(input);
      case 'BatchGetItem':
        return this.#batchGetItem(input);
      case 'PutItem':
        return this.#putItem(input);
      case 'UpdateItem':
        return this.#updateItem(input);
      case 'DeleteItem':
        return this.#deleteItem(input);
    }
  }

  #getItem({ Key }: Input<'GetItem'>): Output<'GetItem'> {
    const item = this.#store.find(checkedKey(Key));
    return item === undefined ? {} : { Item: item };
  }

  #batchGetItem({ RequestItems }: Input<'BatchGetItem'>): Output<'BatchGetItem'> {
    const [[tableName, { Keys }] = invalidly('A BatchGetItem asks for no keys.')] =
      Object.entries(RequestItems);
    const keys = Keys.map(checkedKey);
    if (keys.length === 0) throw invalid('A BatchGetItem asks for no keys.');
    if (keys.length > batchKeysMax) throw invalid('Too many items requested for the BatchGetItem call');
    if (new Set(keys.map(({ pk, sk }) => JSON.stringify([pk, sk]))).size < keys.length)
      throw invalid('Provided list of item keys contains duplicates');
    const found: Item[] = [];
    let [bytes, taken] = [0, 0];
    for (const key of keys) {
      if (bytes >= batchBytesMax) break;
      taken += 1;
      const item = this.#store.find(key);
      if (item === undefined) continue;
      bytes += itemBytes(item);
      found.push(item);
    }
    const left = keys.slice(taken).map((key): Item => ({ ...key }));
    const UnprocessedKeys = left.length === 0 ? {} : { [tableName]: { Keys: left } };
    return { Responses: { [tableName]: found }, UnprocessedKeys };
  }

  #putItem(input: Input<'PutItem'>): Output<'PutItem'> {
    const item = stored(input.Item);
    this.#write(input, checkedKey(keyOf(item)), scopeOf(input), () => item);
    return {};
  }

  #updateItem(input: Input<'UpdateItem'>): Output<'UpdateItem'> {
    const { UpdateExpression, ReturnValues } = input;
    const key = checkedKey(input.Key);
    const by = scopeOf(input);
    checkUpdate(UpdateExpression, by);
    const { before, after } = this.#write(input, key, by, (item) => {
      const changed = updated(UpdateExpression, item ?? { ...key }, by);
      if (changed[keyNames.pk] !== key.pk || changed[keyNames.sk] !== key.sk)
        throw invalid('The update changes the key of the item');
      return stored(changed);
    });
    const returned = ReturnValues === 'ALL_NEW' ? after : ReturnValues === 'ALL_OLD' ? before : undefined;
    return returned === undefined ? {} : { Attributes: returned };
  }

  #deleteItem(input: Input<'DeleteItem'>): Output<'DeleteItem'> {
    const { before } = this.#write(input, checkedKey(input.Key), scopeOf(input), () => undefined);
    return input.ReturnValues === undefined || before === undefined ? {} : { Attributes: before };
  }

  async #query(input: Input<'Query'>): Promise<Output<'Query'>> {
    const { IndexName, KeyConditionExpression, FilterExpression, Limit, ScanIndexForward = true } = input;
    const index =
      indexes.find(({ name }) => name === IndexName) ?? invalidly(`There is no index ${IndexName}.`);
    if (Limit !== undefined && Limit < 1) throw invalid('Limit must be 1 or more');
    if (IndexName !== undefined && input.ConsistentRead) throw invalid('An index has no consistent reads');
    checkExpressions(input, [KeyConditionExpression, FilterExpression]);
    const by = scopeOf(input);
    const inRange = parseCondition(KeyConditionExpression);
    const passes = FilterExpression === undefined ? undefined : parseCondition(FilterExpression);
    const itemsMax = Math.min(Limit ?? Number.POSITIVE_INFINITY, this.#limits.pageItemsMax);
    const Items: Item[] = [];
    let [looked, bytes] = [0, 0];
    let range: Range = {
      ...rangeOf(inRange, index, by),
      after: input.ExclusiveStartKey,
      isForward: ScanIndexForward,
    };
    for (;;) {
      const count = Math.min(readAtOnce, itemsMax - looked);
      const { items, isLast } = await this.#store.read(range, count);
      const last = items.at(-1);
      if (last !== undefined) range = { ...range, after: entryOf(last, index) };
      for (const item of items) {
        // A bound that is not included.
        if (!holds(inRange, item, by)) continue;
        looked += 1;
        bytes += itemBytes(item);
        if (passes === undefined || holds(passes, item, by)) Items.push(item);
        if (looked >= itemsMax || bytes >= pageBytesMax)
          return { Items, LastEvaluatedKey: startKey(item, index) };
      }
      if (isLast) return { Items };
    }
  }

  #write(
    write: Write,
    key: Key,
    by: ReturnType<typeof scopeOf>,
    become: (before: Item | undefined) => Item | undefined,
  ) {
    const { ConditionExpression: condition } = write;
    checkExpressions(write, [condition, 'UpdateExpression' in write ? write.UpdateExpression : undefined]);
    const before = this.#store.find(key);
    if (condition !== undefined && !holds(parseCondition(condition), before ?? none, by))
      throw refusal('ConditionalCheckFailedException', 'The conditional request failed');
    const after = become(before);
    if (after !== undefined) checkItem(after, this.#limits.itemBytesMax);
    this.#store.write({ key, before, after });
    return { before, after };
  }
}

/** The items that a call reads or changes, but for a query. */
function keysOf(input: Operations[keyof Operations][0]): readonly Key[] {
  if ('Key' in input) return [keyOf(input.Key)];
  if ('Item' in input) return [keyOf(input.Item)];
  if ('RequestItems' in input)
    return Object.values(input.RequestItems).flatMap(({ Keys }) => Keys.map(keyOf));
  return [];
}

function scopeOf(input: {
  ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  ExpressionAttributeValues?: Item | undefined;
}) {
  return {
    names: input.ExpressionAttributeNames ?? {},
    values: stored(input.ExpressionAttributeValues ?? none),
  };
}

/** The bounds of a query, and its partition: `#pk = :pk`, alone or with one condition of the sort key. */
function rangeOf(condition: Condition, index: Index, by: ReturnType<typeof scopeOf>) {
  const [partition, sort, more] = condition.kind === 'all' ? condition.parts : [condition];
  const isOf = (operand: unknown, attribute: string) => {
    const { kind, path } = operand as { kind?: string; path?: readonly string[] };
    return kind === 'path' && path?.length === 1 && by.names[path[0] as string] === attribute;
  };
  if (partition?.kind !== 'compare' || partition.by !== '=' || !isOf(partition.left, index.pk) || more)
    throw invalid('Query condition missed key schema element');
  const name = evaluate(partition.right, none, by);
  if (!isKey(name, index.pk)) throw invalid('Query key condition has no key');
  const bounds = sort === undefined ? {} : boundsOf(sort, (operand) => isOf(operand, index.sk), by);
  if (bounds === undefined) throw invalid('Query key condition not supported');
  if (Object.values(bounds).some((bound) => !isKey(bound, index.sk)))
    throw invalid('Query key condition has no key');
  return { index, partition: String(name), from: undefined, to: undefined, ...bounds };
}

function boundsOf(
  condition: Condition,
  isSortKey: (operand: unknown) => boolean,
  by: ReturnType<typeof scopeOf>,
): { from?: unknown; to?: unknown } | undefined {
  const value = (operand: Operand) => evaluate(operand, none, by);
  if (condition.kind === 'between' && isSortKey(condition.of)) return endsOf(condition, by);
  if (condition.kind === 'call' && condition.name === 'begins_with' && isSortKey(condition.args[0])) {
    const prefix = value(condition.args[1] as Operand);
    return { from: prefix, to: `${String(prefix)}\u{10ffff}` };
  }
  if (condition.kind !== 'compare' || condition.by === '<>' || !isSortKey(condition.left)) return undefined;
  const bound = value(condition.right);
  if (condition.by === '=') return { from: bound, to: bound };
  return condition.by.startsWith('<') ? { to: bound } : { from: bound };
}

/** What a query goes on after. */
function startKey(item: Item, index: Index): Item {
  return index.name === undefined ? { ...keyOf(item) } : entryOf(item, index);
}

function checkedKey(key: Item | Key): Key {
  const { pk, sk, ...more } = key as Item;
  if (!isKey(pk, keyNames.pk) || !isKey(sk, keyNames.sk) || Object.keys(more).length > 0)
    throw invalid('The key needs pk and sk, and nothing else');
  return key as Key;
}

const partitionKeys = new Set<string>(indexes.map(({ pk }) => pk));

/** Whether the table or an index takes it as this attribute of its keys. */
function isKey(value: unknown, name: string): boolean {
  if (name === byDueIndex.sk) return typeof value === 'number';
  if (typeof value !== 'string' || value === '') return false;
  return Buffer.byteLength(value) <= (partitionKeys.has(name) ? partitionKeyBytesMax : sortKeyBytesMax);
}

/** @throws {AwsServiceError} for an item that DynamoDB would not take. */
function checkItem(item: Item, itemBytesMax: number): void {
  for (const name of keyAttributes) {
    const value = item[name];
    if (value !== undefined && !isKey(value, name)) throw invalid(`Not a value for the key ${name}`);
  }
  if (itemBytes(item) > itemBytesMax) throw invalid('Item size has exceeded the maximum allowed size');
}

const placeholders = new Map<string, ReadonlySet<string>>();

/** @throws {AwsServiceError} if one is too long, or if a placeholder is in none. */
function checkExpressions(
  input: Parameters<typeof scopeOf>[0],
  expressions: readonly (string | undefined)[],
): void {
  const text = expressions.filter((each) => each !== undefined).join(' ');
  for (const each of expressions)
    if (
      each !== undefined &&
      each.length * 3 > expressionBytesMax &&
      Buffer.byteLength(each) > expressionBytesMax
    )
      throw invalid('Expression size has exceeded the maximum allowed size');
  let used = placeholders.get(text);
  if (used === undefined) {
    used = new Set(text.match(/[#:]\w+/g));
    if (placeholders.size > 2_000) placeholders.clear();
    placeholders.set(text, used);
  }
  for (const given of [input.ExpressionAttributeNames, input.ExpressionAttributeValues]) {
    if (given === undefined) continue;
    const names = Object.keys(given);
    if (names.length === 0) throw invalid('A map of names or values is empty');
    for (const name of names)
      if (!used.has(name) && given[name] !== undefined)
        throw invalid(`Value provided is unused in expressions: ${name}`);
  }
}

const refusal = (code: string, message: string) => new AwsServiceError({ message, code, status: 400 });
const invalid = (message: string) => refusal('ValidationException', message);
const invalidly = (message: string): never => {
  throw invalid(message);
};
