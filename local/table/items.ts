import { byDueIndex, byKindIndex, keyNames } from '../../lambda/core/table/table.ts';
import type { Item } from './expression.ts';

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** How a table or an index of it is read: the attributes that name a partition, and the order in it. */
export interface Index {
  /** Undefined: the table itself. */
  readonly name: string | undefined;
  readonly pk: string;
  readonly sk: string;
}

export const primary: Index = { name: undefined, ...keyNames };
export const indexes: readonly Index[] = [primary, byKindIndex, byDueIndex];

/** A change of one item. Undefined: it is not there. */
export interface Change {
  readonly key: Key;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

/** A part of a partition, both ends included. */
export interface Range {
  readonly index: Index;
  readonly partition: string;
  /** Least and greatest sort key. Undefined: no bound. */
  readonly from: unknown;
  readonly to: unknown;
  /** Goes on behind this one: its key, and of an index the attributes of that. */
  readonly after: Item | undefined;
  readonly isForward: boolean;
}

/** Items of a range. `isLast`: nothing follows them. Else something may. */
export interface Page {
  readonly items: readonly Item[];
  readonly isLast: boolean;
}

/** Where a table keeps its items. What is written is there for the next call at once, whether it is on a disk or not. */
export interface ItemStore {
  find(key: Key): Item | undefined;
  write(change: Change): void;
  /** The items of a range in order, at most so many, once they are safe. Of an index they have the keys alone. */
  read(range: Range, countMax: number): Page | Promise<Page>;
  /** Those that expire before this second, the first at most. */
  expired(beforeS: number, countMax: number): readonly Key[] | Promise<readonly Key[]>;
  /** Once the last changes of these items are safe. Undefined: they are. @throws if they could not be written. */
  kept(keys: readonly Key[]): Promise<unknown> | undefined;
}

export const keyOf = (item: Item): Key => ({
  pk: item[keyNames.pk] as string,
  sk: item[keyNames.sk] as string,
});

/** An item as an index has it. */
export function entryOf(item: Item, { name, pk, sk }: Index): Item {
  return name === undefined ? item : { ...keyOf(item), [pk]: item[pk], [sk]: item[sk] };
}

/**
 * What a value counts towards DynamoDB's limits, to a few bytes:
 * docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return numberBytes(value);
  if (typeof value !== 'object' || value === null) return 1;
  let bytes = 3;
  if (Array.isArray(value)) for (const each of value) bytes += 1 + bytesOf(each);
  else for (const [name, each] of Object.entries(value)) bytes += 1 + Buffer.byteLength(name) + bytesOf(each);
  return bytes;
}

/** One byte for two significant digits, and one more. */
function numberBytes(value: number): number {
  return Math.ceil(significantDigits(Math.abs(value)) / 2) + 1 + (value < 0 ? 1 : 0);
}

function significantDigits(value: number): number {
  if (!Number.isSafeInteger(value))
    return String(value)
      .replace('.', '')
      .replace(/^0+|0+$/g, '').length;
  // Each query and each write counts: a text of each number took longer than all else that they do.
  let [digits, zeros] = [0, 0];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 10)) {
    if (rest % 10 === 0 && zeros === digits) zeros += 1;
    digits += 1;
  }
  return digits - zeros;
}

/** The bytes of an item: of all names and values. */
export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const name of Object.keys(item)) bytes += Buffer.byteLength(name) + bytesOf(item[name]);
  return bytes;
}

/**
 * A copy that nobody can change, without what is undefined, as the SDK sends it. What is frozen is such a copy, so it's shared.
 * A WeakSet of them would cost the collector more than the copies.
 *
 * @throws {TypeError} for what no item holds.
 */
export function stored<T>(value: T): T {
  return copyOf(value, 0) as T;
}

/** Lists and maps in each other, as in DynamoDB. */
const levelsMax = 32;

function copyOf(value: unknown, level: number): unknown {
  if (level > levelsMax) throw new TypeError(`No item has more than ${levelsMax} levels.`);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') {
    // There is no negative zero.
    if (Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value + 0;
    throw new TypeError(`No item holds the number ${value}.`);
  }
  if (Array.isArray(value))
    return Object.isFrozen(value)
      ? value
      : Object.freeze(value.filter((each) => each !== undefined).map((each) => copyOf(each, level + 1)));
  if (typeof value !== 'object' || ![Object.prototype, null].includes(Object.getPrototypeOf(value)))
    throw new TypeError(`No item holds a ${typeof value}.`);
  if (Object.isFrozen(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value))
    if (each !== undefined) copy[name] = copyOf(each, level + 1);
  return Object.freeze(copy);
}
