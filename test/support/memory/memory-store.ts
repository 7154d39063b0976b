import { expiryAttribute, keyNames } from '../../../lambda/core/table/table.ts';
import { type Item, orderOf } from '../../../local/table/expression.ts';
import {
  type Change,
  entryOf,
  type Index,
  type ItemStore,
  indexes,
  type Key,
  keyOf,
  type Page,
  primary,
  type Range,
} from '../../../local/table/items.ts';

/** All that expires, in one partition. It is not DynamoDB's: its TTL has none to read. */
const expiring: Index = { name: 'by-expiry', pk: '', sk: expiryAttribute };
const expiringPartition = 'expiring';

/** Items in memory: LevelDB's order and bounds, without a disk. */
export class MemoryStore implements ItemStore {
  readonly #partitions = new Map(
    [...indexes, expiring].map((index) => [index, new Map<string, Partition>()]),
  );

  find({ pk, sk }: Key): Item | undefined {
    return this.#partitions.get(primary)?.get(pk)?.find({ pk, sk });
  }

  write({ before, after }: Change): void {
    for (const [index, partitions] of this.#partitions) {
      const [old, now] = [partitionOf(before, index), partitionOf(after, index)];
      const isInPlace = old !== undefined && old === now;
      if (isInPlace && compareIn(index, before as Item, after as Item) === 0) {
        partitions.get(old)?.replace(after as Item);
        continue;
      }
      if (old !== undefined) partitions.get(old)?.delete(before as Item);
      if (now === undefined) continue;
      const partition = partitions.get(now) ?? new Partition(index);
      partitions.set(now, partition);
      partition.add(after as Item);
    }
  }

  read(range: Range, countMax: number): Page {
    const items = this.#partitions.get(range.index)?.get(range.partition)?.read(range, countMax) ?? [];
    return { items, isLast: items.length < countMax };
  }

  expired(beforeS: number, countMax: number): readonly Key[] {
    const range = { index: expiring, partition: expiringPartition, from: undefined, to: beforeS };
    const { items } = this.read({ ...range, after: undefined, isForward: true }, countMax);
    return items.filter((item) => (item[expiryAttribute] as number) < beforeS).map(keyOf);
  }

  kept(): undefined {}

  /** The items of a partition whose sort keys begin so, for a test that looks at them. */
  itemsOf(pk: string, start = ''): readonly Item[] {
    const range = { index: primary, partition: pk, from: start, to: `${start}\u{10ffff}` };
    return this.read({ ...range, after: undefined, isForward: true }, Number.POSITIVE_INFINITY).items;
  }

  /** All items of the table, or of an index, for a test that looks at them. */
  *all(index: Index = primary): Iterable<Item> {
    for (const partition of this.#partitions.get(index)?.values() ?? []) yield* partition.items;
  }
}

/** Undefined: the item is not in the index. */
function partitionOf(item: Item | undefined, index: Index): string | undefined {
  if (item?.[index.sk] === undefined) return undefined;
  if (index !== expiring) return item[index.pk] as string | undefined;
  return typeof item[index.sk] === 'number' ? expiringPartition : undefined;
}

/** The items of one partition of the table or of an index, in order. */
class Partition {
  readonly items: Item[] = [];
  readonly #index: Index;

  constructor(index: Index) {
    this.#index = index;
  }

  find(key: Item): Item | undefined {
    const item = this.items[this.#placeOf(key)];
    return item && compareIn(this.#index, item, key) === 0 ? item : undefined;
  }

  add(item: Item): void {
    const last = this.items.at(-1);
    if (last === undefined || compareIn(this.#index, last, item) < 0) this.items.push(item);
    else this.items.splice(this.#placeOf(item), 0, item);
  }

  /** The item with the same key, which is there. */
  replace(item: Item): void {
    this.items[this.#placeOf(item)] = item;
  }

  delete(item: Item): void {
    this.items.splice(this.#placeOf(item), 1);
  }

  read({ from, to, after, isForward, index }: Range, countMax: number): readonly Item[] {
    // The first and the last that may be read, by their places.
    let first = from === undefined ? 0 : this.#placeOf(beside(index, from));
    let end = to === undefined ? this.items.length : this.#placeBehind(to);
    if (after !== undefined) {
      const place = this.#placeOf(after);
      if (!isForward) end = Math.min(end, place);
      else first = Math.max(first, place + (this.#isAt(place, after) ? 1 : 0));
    }
    const taken = isForward
      ? this.items.slice(first, Math.min(end, first + countMax))
      : this.items.slice(Math.max(first, end - countMax), end).reverse();
    return index.name === undefined ? taken : taken.map((item) => entryOf(item, index));
  }

  #isAt(place: number, item: Item): boolean {
    const found = this.items[place];
    return found !== undefined && compareIn(this.#index, found, item) === 0;
  }

  /** Of the first item that isn't before this one. */
  #placeOf(item: Item): number {
    return this.#search((each) => compareIn(this.#index, each, item) < 0);
  }

  /** Of the first item behind all with this sort key. */
  #placeBehind(sortKey: unknown): number {
    const { sk } = this.#index;
    const index = { ...this.#index, pk: sk };
    return this.#search((each) => compareIn(index, { [sk]: each[sk] }, { [sk]: sortKey }) <= 0);
  }

  #search(isBefore: (item: Item) => boolean): number {
    let [low, high] = [0, this.items.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.items[middle] as Item)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** What lies before all items with this sort key. */
const beside = ({ sk }: Index, sortKey: unknown): Item => ({
  pk: '',
  ...(sk !== 'sk' && { sk: '' }),
  [sk]: sortKey,
});

/** By sort key, and then, in an index, by the items' own keys. */
function compareIn({ sk }: Index, left: Item, right: Item): number {
  return (
    (orderOf(left[sk], right[sk]) ?? 0) ||
    (orderOf(left[keyNames.pk], right[keyNames.pk]) ?? 0) ||
    (orderOf(left[keyNames.sk], right[keyNames.sk]) ?? 0)
  );
}
