import { compareKeys } from '../../lambda/core/rules/names.ts';
import { expiryAttribute } from '../../lambda/core/table/table.ts';
import type { Item } from './expression.ts';
import {
  type Change,
  type Index,
  type ItemStore,
  indexes,
  type Key,
  type Page,
  primary,
  type Range,
} from './items.ts';

/** Which keys of LevelDB are read, and how. */
export interface LevelRange {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt: string;
  readonly reverse: boolean;
  readonly limit: number;
  readonly values: boolean;
  readonly highWaterMarkBytes: number;
}

export type LevelWrite =
  | { readonly type: 'put'; readonly key: string; readonly value: string }
  | { readonly type: 'del'; readonly key: string };

/** LevelDB, as far as a table needs it. */
export interface Level {
  getSync(key: string): string | undefined;
  /** Reads what is there at the moment of this call. */
  iterator(range: LevelRange): {
    nextv(countMax: number): Promise<[key: string, value: string][]>;
    close(): Promise<void>;
  };
  /** All of it or nothing. */
  batch(writes: LevelWrite[], options: { sync: true }): Promise<void>;
  close(): Promise<void>;
}

export interface LevelStoreOptions {
  /** Opens the database. Called again after a write failed. */
  readonly open: () => Promise<Level>;
  /** Rejects while there is too little space to open it again. */
  readonly probe: () => Promise<void>;
  readonly nowMs?: () => number;
  /** Bytes of the items that are kept parsed. */
  readonly cacheBytesMax?: number;
}

/** Least time between two attempts to open the database again. */
const reopenPauseMs = 1000;
const cacheBytesMaxDefault = 4 * 1024 ** 2;
/** Bytes of what is read at once, about. A page of a query has no more. */
const readBytesMax = 1024 ** 2;
const highWaterMarkBytes = 256 * 1024;
/** Items of a snapshot that are read at a time, at most. */
const snapshotItems = 1000;

/** What is written, and synced, together: all of it or nothing. */
class Group {
  /** Items by their ids, as they are after it. */
  readonly items = new Map<string, Item | undefined>();
  /** Keys of index entries, and whether they are there after it. */
  readonly entries = new Map<string, boolean>();
  readonly done: Promise<void>;
  settle!: (error?: unknown) => void;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.settle = (error) => (error === undefined ? resolve() : reject(error));
    });
    // Nobody may be waiting.
    this.done.catch(() => undefined);
  }

  /** By LevelDB's keys: what becomes of items, or whether entries are there. */
  changes(ofItems: boolean): [key: string, value: Item | boolean | undefined][] {
    return ofItems ? [...this.items].map(([id, item]) => [`i${id}`, item]) : [...this.entries];
  }
}

/**
 * Items in LevelDB, by keys that lie in DynamoDB's order:
 *
 * | key | value |
 * | --- | --- |
 * | i{pk} 0 {sk} | the item as JSON |
 * | k{gsi1pk} 0 {gsi1sk} 0 {pk} 0 {sk}, d{duepk} 0 {dueat} 0 {pk} 0 {sk} | none |
 * | e{expiresAt} 0 {pk} 0 {sk} | none |
 *
 * A change is there for the next call at once. Changes that come while the disk is busy are one group: one batch and one
 * sync. A caller waits for the groups that its answer rests on, and no others.
 *
 * If a group can't be written, it and the one after it, which was decided on top of it, are forgotten, and their callers
 * get the error. LevelDB may have left half a record in its log, so nothing more is written before it was opened again.
 */
export class LevelStore implements ItemStore {
  readonly #options: LevelStoreOptions;
  readonly #cache: Cache;
  /** Undefined if it could not be opened again. */
  #level: Level | undefined;
  #failure: unknown;
  /** Takes the next change. */
  #next = new Group();
  #writing: Group | undefined;
  #isScheduled = false;
  readonly #reads = new Set<Promise<unknown>>();
  #reopening: Promise<void> | undefined;
  #attemptAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  private constructor(options: LevelStoreOptions, level: Level) {
    this.#options = options;
    this.#level = level;
    this.#cache = new Cache(options.cacheBytesMax ?? cacheBytesMaxDefault);
  }

  /** @throws what `open` throws. */
  static async open(options: LevelStoreOptions): Promise<LevelStore> {
    return new LevelStore(options, await options.open());
  }

  /** Why nothing can be written now. Undefined: it can. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * To be awaited before each call. After a failure, one that writes opens the database again once there is space. Until
   * then such calls are refused, and those that read are answered.
   *
   * @throws why nothing can be written, or read.
   */
  async ready({ isRead }: { isRead: boolean }): Promise<void> {
    for (;;) {
      if (this.#isClosed) throw new Error('The table is closed.');
      if (this.#reopening === undefined) {
        if (this.#failure === undefined || (isRead && this.#level !== undefined)) return;
        if (this.#nowMs() < this.#attemptAtMs) throw this.#failure;
        this.#reopening = this.#reopen();
      }
      await this.#reopening;
    }
  }

  find(key: Key): Item | undefined {
    if (hasZero(key)) return undefined;
    const id = idOf(key);
    for (const group of [this.#next, this.#writing]) if (group?.items.has(id)) return group.items.get(id);
    const cached = this.#cache.get(id);
    if (cached !== undefined) return cached;
    const text = this.#open().getSync(`i${id}`);
    if (text === undefined) return undefined;
    const item = JSON.parse(text) as Item;
    this.#cache.set(id, item, text.length);
    return item;
  }

  write({ key, before, after }: Change): void {
    if (this.#isClosed) throw new Error('The table is closed.');
    const added = after === undefined ? [] : entriesOf(key, after);
    if (hasZero(key) || added.some(({ parts }) => parts.some(isWithZero)))
      throw new Error("A key can't have a zero byte.");
    const { items, entries } = this.#next;
    items.set(idOf(key), after);
    const now = new Set(added.map(({ text }) => text));
    for (const { text } of before === undefined ? [] : entriesOf(key, before))
      if (!now.delete(text)) entries.set(text, false);
    for (const text of now) entries.set(text, true);
    this.#schedule();
  }

  async read(range: Range, countMax: number): Promise<Page> {
    const { index, isForward } = range;
    const { found, isLast } = await this.#between(boundsOf(range), {
      countMax,
      isForward,
      hasValues: index === primary,
    });
    return { items: found.map(({ key, item }) => item ?? entryAt(key, index)), isLast };
  }

  async expired(beforeS: number, countMax: number): Promise<readonly Key[]> {
    const bounds = { gte: expiryMark, lt: `${expiryMark}${sortable(beforeS)}` };
    const { found } = await this.#between(bounds, { countMax, isForward: true, hasValues: false });
    return found.map(({ key }) => {
      const [, pk = '', sk = ''] = key.split('\0');
      return { pk, sk };
    });
  }

  kept(keys: readonly Key[]): Promise<unknown> | undefined {
    const ids = keys.map(idOf);
    const groups = [this.#writing, this.#next].filter((group) => ids.some((id) => group?.items.has(id)));
    return groups.length === 0 ? undefined : Promise.all(groups.map((group) => group?.done));
  }

  /** All items as JSON, some at a time, as they are at one moment. Writes go on meanwhile. @throws if it's closed. */
  async *snapshot(): AsyncGenerator<readonly string[]> {
    const all = { gte: 'i', lt: 'j', reverse: false, limit: -1, values: true, highWaterMarkBytes };
    const iterator = this.#open().iterator(all);
    try {
      for (;;) {
        const entries = await iterator.nextv(snapshotItems);
        if (entries.length === 0) return;
        yield entries.map(([, text]) => text);
      }
    } finally {
      await iterator.close();
    }
  }

  /** Writes what is left, and closes the database. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reopening;
    if (this.#next.items.size > 0) await this.#next.done.catch(() => undefined);
    await this.#writing?.done.catch(() => undefined);
    await Promise.allSettled(this.#reads);
    await this.#level?.close();
  }

  #open(): Level {
    if (this.#level === undefined) throw this.#failure;
    return this.#level;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#writing !== undefined || this.#next.items.size === 0) return;
    this.#isScheduled = true;
    // With what the other requests of this turn change.
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#writeGroup();
    });
  }

  /** Never rejects. */
  async #writeGroup(): Promise<void> {
    const group = this.#next;
    this.#writing = group;
    this.#next = new Group();
    const texts = [...group.items].map(([id, item]) => ({ id, item, text: item && JSON.stringify(item) }));
    const writes = [
      ...texts.map(({ id, text }) => writeOf(`i${id}`, text)),
      ...[...group.entries].map(([key, isThere]) => writeOf(key, isThere ? '' : undefined)),
    ];
    try {
      if (this.#failure !== undefined) throw this.#failure;
      await this.#open().batch(writes, { sync: true });
      for (const { id, item, text } of texts) {
        if (item && text !== undefined) this.#cache.set(id, item, text.length);
        else this.#cache.delete(id);
      }
      this.#writing = undefined;
      group.settle();
    } catch (error) {
      this.#failure ??= error;
      const decidedOnIt = this.#next;
      this.#writing = undefined;
      this.#next = new Group();
      for (const forgotten of [group, decidedOnIt]) forgotten.settle(error);
    }
    this.#schedule();
  }

  /** Never rejects. */
  async #reopen(): Promise<void> {
    try {
      await this.#options.probe();
      await Promise.allSettled(this.#reads);
      const level = this.#level;
      this.#level = undefined;
      await level?.close();
      // A group that failed may be in the log all the same.
      this.#cache.clear();
      this.#level = await this.#options.open();
      await this.#level.batch([{ type: 'del', key: 'none' }], { sync: true });
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    }
    this.#attemptAtMs = this.#nowMs() + reopenPauseMs;
    this.#reopening = undefined;
  }

  /** What lies between two keys, the first at most, once all of it is on the disk. */
  #between(
    bounds: Bounds,
    how: { countMax: number; isForward: boolean; hasValues: boolean },
  ): Promise<Found> {
    const reading = this.#readBetween(bounds, how);
    this.#reads.add(reading);
    return reading.finally(() => this.#reads.delete(reading));
  }

  async #readBetween(
    bounds: Bounds,
    { countMax, isForward, hasValues }: { countMax: number; isForward: boolean; hasValues: boolean },
  ): Promise<Found> {
    const unwritten = new Map<string, Item | boolean | undefined>();
    const waits: Promise<void>[] = [];
    for (const group of [this.#writing, this.#next]) {
      const seen = group?.changes(hasValues).filter(([key]) => isWithin(key, bounds)) ?? [];
      for (const [key, value] of seen) unwritten.set(key, value);
      if (group && seen.length > 0) waits.push(group.done);
    }
    // At the same moment: the iterator reads from a snapshot.
    const limit = countMax + unwritten.size;
    const iterator = this.#open().iterator({
      ...bounds,
      reverse: !isForward,
      limit,
      values: hasValues,
      highWaterMarkBytes,
    });
    const found: { key: string; item: Item | undefined }[] = [];
    let isCut = false;
    let lastRead: string | undefined;
    try {
      for (let bytes = 0; ; ) {
        const entries = await iterator.nextv(limit);
        if (entries.length === 0) break;
        for (const [key, value] of entries) {
          bytes += hasValues ? value.length : key.length;
          lastRead = key;
          if (unwritten.has(key)) continue;
          found.push({ key, item: hasValues ? (JSON.parse(value) as Item) : undefined });
        }
        isCut = bytes > readBytesMax;
        if (isCut) break;
      }
    } finally {
      await iterator.close();
    }
    await Promise.all(waits);
    const direction = isForward ? 1 : -1;
    for (const [key, value] of unwritten) {
      if (value === undefined || value === false) continue;
      // What is behind it comes with the next page.
      if (isCut && lastRead !== undefined && direction * compareKeys(key, lastRead) > 0) continue;
      found.push({ key, item: typeof value === 'object' ? value : undefined });
    }
    if (unwritten.size > 0) found.sort((left, right) => direction * compareKeys(left.key, right.key));
    return { found: found.slice(0, countMax), isLast: !isCut && found.length < countMax };
  }

  #nowMs(): number {
    return this.#options.nowMs?.() ?? performance.now();
  }
}

interface Found {
  readonly found: readonly { readonly key: string; readonly item: Item | undefined }[];
  readonly isLast: boolean;
}

const writeOf = (key: string, value: string | undefined): LevelWrite =>
  value === undefined ? { type: 'del', key } : { type: 'put', key, value };

/** Parsed items. Those that were not used for the longest time go first. */
class Cache {
  readonly #items = new Map<string, { readonly item: Item; readonly bytes: number }>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(id: string): Item | undefined {
    const found = this.#items.get(id);
    if (found === undefined) return undefined;
    this.#items.delete(id);
    this.#items.set(id, found);
    return found.item;
  }

  set(id: string, item: Item, textBytes: number): void {
    this.delete(id);
    const bytes = textBytes + 2 * id.length + 100;
    this.#items.set(id, { item, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#items.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.delete(oldest);
    }
  }

  delete(id: string): void {
    this.#bytes -= this.#items.get(id)?.bytes ?? 0;
    this.#items.delete(id);
  }

  clear(): void {
    this.#items.clear();
    this.#bytes = 0;
  }
}

/** How the keys of the table and of each index begin. */
const marks = new Map(indexes.map((index) => [index, index.name?.slice(3, 4) ?? 'i']));
/** How those of what expires begin. */
const expiryMark = 'e';

/** A part of LevelDB's keys. */
interface Bounds {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt: string;
}

const isWithZero = (text: string) => text.includes('\0');
const hasZero = ({ pk, sk }: Key) => isWithZero(pk) || isWithZero(sk);
const idOf = ({ pk, sk }: Key) => `${pk}\0${sk}`;

/** A text that is ordered as the value is. */
function sortable(value: unknown): string {
  if (typeof value !== 'number') return String(value);
  const bytes = Buffer.alloc(8);
  // No negative zero.
  bytes.writeDoubleBE(value + 0);
  return signFlipped(bytes, (bytes[0] as number) >= 0x80).toString('hex');
}

function numberOf(text: string): number {
  const bytes = Buffer.from(text, 'hex');
  return signFlipped(bytes, (bytes[0] as number) < 0x80).readDoubleBE();
}

/** Of a negative number all bits, else the first. */
function signFlipped(bytes: Buffer, isNegative: boolean): Buffer {
  for (let at = 0; at < 8; at += 1)
    bytes[at] = (bytes[at] as number) ^ (isNegative ? 0xff : at === 0 ? 0x80 : 0);
  return bytes;
}

/** An item's entries in the indexes, and in the one of what expires. */
function entriesOf(key: Key, item: Item): { text: string; parts: readonly string[] }[] {
  const entries: { text: string; parts: readonly string[] }[] = [];
  for (const index of indexes) {
    const [partition, sortKey] = [item[index.pk], item[index.sk]];
    if (index === primary || partition === undefined || sortKey === undefined) continue;
    const parts = [String(partition), sortable(sortKey)];
    entries.push({ text: `${marks.get(index)}${parts.join('\0')}\0${idOf(key)}`, parts });
  }
  const expires = item[expiryAttribute];
  if (typeof expires === 'number')
    entries.push({ text: `${expiryMark}${sortable(expires)}\0${idOf(key)}`, parts: [] });
  return entries;
}

/** The item of an index that has this key. */
function entryAt(key: string, index: Index): Item {
  const [partition = '', sortKey = '', pk = '', sk = ''] = key.slice(1).split('\0');
  return {
    pk,
    sk,
    [index.pk]: partition,
    [index.sk]: marks.get(index) === 'd' ? numberOf(sortKey) : sortKey,
  };
}

/** The keys of a range, and perhaps some more, which the condition of the query leaves out. */
function boundsOf({ index, partition, from, to, after, isForward }: Range): Bounds {
  const start = `${marks.get(index)}${partition}`;
  const lowest = `${start}\0${from === undefined ? '' : sortable(from)}`;
  // Above it is whatever goes on with another byte than the zero behind a part of a key.
  const highest =
    to === undefined ? `${start}\x01` : `${start}\0${sortable(to)}${index === primary ? '\0' : '\x01'}`;
  if (after === undefined) return { gte: lowest, lt: highest };
  const place = levelKeyOf(after, index);
  if (isForward)
    return compareKeys(place, lowest) < 0 ? { gte: lowest, lt: highest } : { gt: place, lt: highest };
  return { gte: lowest, lt: compareKeys(place, highest) < 0 ? place : highest };
}

function levelKeyOf(item: Item, index: Index): string {
  const key = idOf(item as unknown as Key);
  const own = index === primary ? '' : `${item[index.pk]}\0${sortable(item[index.sk])}\0`;
  return `${marks.get(index)}${own}${key}`;
}

function isWithin(key: string, { gt, gte, lt }: Bounds): boolean {
  if (gt !== undefined && compareKeys(key, gt) <= 0) return false;
  if (gte !== undefined && compareKeys(key, gte) < 0) return false;
  return compareKeys(key, lt) < 0;
}
