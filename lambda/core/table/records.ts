import type * as z from 'zod';
import { forEachLimited } from '../rules/async.ts';
import { absent, type Fields, setting } from './expressions.ts';
import {
  allItems,
  batchGet,
  changeItem,
  deleteItem,
  firstItems,
  getItem,
  newWriteId,
  putItem,
  type Table,
  updateItem,
} from './requests.ts';
import type { Query } from './table.ts';

/** Records of one kind, each an item. */
interface Kind<K, R> {
  readonly keyOf: (key: K) => { readonly pk: string; readonly sk: string };
  readonly schema: z.ZodType<R>;
  /** What the item has of a record, and besides: a place in an index, an end. Default: its fields. */
  readonly fields?: (record: R) => Fields;
}

/** What a write depends on. */
interface If {
  readonly condition?: string;
  /** `:name` → value. */
  readonly values?: Fields;
}

/**
 * Reads and writes records, each by one request, and reads are strongly consistent. All throw
 * {@link LedgerUnavailableError}; a write may have landed then. Writes tell whether their condition held. A bundle that uses
 * none of a kind drops it.
 */
/* @__NO_SIDE_EFFECTS__ */
export function recordsOf<K, R extends object>(kind: Kind<K, R>) {
  const { keyOf, schema, fields = (record: R) => record as Fields } = kind;
  const parse = (item: unknown): R => schema.parse(item);
  return {
    keyOf,
    fields,
    async read(table: Table, key: K): Promise<R | undefined> {
      const item = await getItem(table, keyOf(key));
      return item && parse(item);
    },
    /** Those that are there, in any order. */
    async readSome(table: Table, keys: readonly K[]): Promise<readonly R[]> {
      return (await batchGet(table, keys.map(keyOf))).map(parse);
    },
    /** All that a query finds. */
    async list(table: Table, query: Query): Promise<readonly R[]> {
      return (await allItems(table, query)).map(parse);
    },
    async first(table: Table, query: Query & { Limit: number }): Promise<readonly R[]> {
      return (await firstItems(table, query)).map(parse);
    },
    /** Default: if there's none. */
    async put(table: Table, record: R & K, { condition = absent, values }: If = {}): Promise<boolean> {
      const item = { ...keyOf(record), ...fields(record) };
      return (await putItem(table, { item, condition, ...(values && { values }) })).ok;
    },
    /** Puts a new one that {@link change} changes. If it's there, this is our own retry after a lost answer. */
    async create(table: Table, record: R & K): Promise<void> {
      const item = { ...keyOf(record), ...fields(record), writeId: newWriteId() };
      await putItem(table, { item, condition: absent });
    },
    /** Sets fields. In the condition, their values are `:name`. */
    async set(table: Table, key: K, changed: Fields, when: If = {}): Promise<boolean> {
      return (await updateItem(table, { key: keyOf(key), change: [setting(changed)], ...when })).ok;
    },
    /** Changes a record as {@link changeItem} does. @returns it as it is now. undefined: there is none. */
    async change(
      table: Table,
      key: K,
      changeOf: (record: R | undefined) => R | undefined,
    ): Promise<{ readonly record: R | undefined; readonly isChanged: boolean }> {
      const { item, isChanged } = await changeItem(table, keyOf(key), (found) => {
        const changed = changeOf(found && parse(found));
        return changed && fields(changed);
      });
      return { record: item && parse(item), isChanged };
    },
    async remove(table: Table, key: K, when: If = {}): Promise<boolean> {
      return (await deleteItem(table, { key: keyOf(key), ...when })).ok;
    },
    /** Removes it. @returns it as it was. undefined: there was none, or the condition didn't hold. */
    async take(table: Table, key: K, when: If = {}): Promise<R | undefined> {
      const removed = await deleteItem(table, { key: keyOf(key), ...when, returns: 'ALL_OLD' });
      return removed.ok && removed.attributes ? parse(removed.attributes) : undefined;
    },
  };
}

/** The condition that there's none, or that its `expiresAtMs` is over at `:now`. */
export const absentOrOver = `${absent} OR #expiresAtMs <= :now`;

/** The first of what was found, and the last of them if there are more: the next page begins after it. */
export function pageOf<T>(found: readonly T[], pageSize: number) {
  const page = found.slice(0, pageSize);
  return { page, last: found.length > pageSize ? page.at(-1) : undefined };
}

/** In the order in which they were created. */
export const oldestFirst = <R extends { readonly createdAtMs: number }>(
  records: readonly R[],
  idOf: (record: R) => string,
) => [...records].sort((a, b) => a.createdAtMs - b.createdAtMs || (idOf(a) < idOf(b) ? -1 : 1));

/** Requests of {@link removeSome} that are under way at a time. */
const removedAtOnce = 16;

/**
 * Removes what a query finds, at most so many.
 *
 * @param ifOf what the removal of an item depends on.
 * @returns those that were removed, and whether there are more.
 */
export async function removeSome(
  table: Table,
  query: Query,
  { max, ifOf = () => ({}) }: { max: number; ifOf?: (item: Fields) => If },
): Promise<{ readonly removed: readonly Fields[]; readonly hasMore: boolean }> {
  const items = await firstItems(table, { ...query, Limit: max + 1 });
  const removed: Fields[] = [];
  await forEachLimited(items.slice(0, max), removedAtOnce, async (item) => {
    const key = { pk: String(item['pk']), sk: String(item['sk']) };
    if ((await deleteItem(table, { key, ...ifOf(item) })).ok) removed.push(item);
  });
  return { removed, hasMore: items.length > max };
}
