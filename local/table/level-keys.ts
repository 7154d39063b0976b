import { compareKeys } from '../../lambda/rules/names.ts';
import type { Item } from './expression.ts';
import { byExpiry, type Index, indexes, type Key, primary, type Range } from './items.ts';

/** How the keys of the table and of each index begin. */
const marks = new Map(indexes.map((index) => [index, index.name?.slice(3, 4) ?? 'i']));
/** How those of what expires begin. */
export const expiryMark = 'e';

/** A part of LevelDB's keys. */
export interface Bounds {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt: string;
}

export const isWithZero = (text: string) => text.includes('\0');
export const hasZero = ({ pk, sk }: Key) => isWithZero(pk) || isWithZero(sk);
export const idOf = ({ pk, sk }: Key) => `${pk}\0${sk}`;

/** A text that is ordered as the value is. */
export function sortable(value: unknown): string {
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
export function entriesOf(key: Key, item: Item): { text: string; parts: readonly string[] }[] {
  const entries: { text: string; parts: readonly string[] }[] = [];
  for (const index of indexes) {
    const [partition, sortKey] = [item[index.pk], item[index.sk]];
    if (index === primary || partition === undefined || sortKey === undefined) continue;
    const parts = [String(partition), sortable(sortKey)];
    entries.push({ text: `${marks.get(index)}${parts.join('\0')}\0${idOf(key)}`, parts });
  }
  const expires = item[byExpiry.sk];
  if (typeof expires === 'number')
    entries.push({ text: `${expiryMark}${sortable(expires)}\0${idOf(key)}`, parts: [] });
  return entries;
}

/** The item of an index that has this key. */
export function entryAt(key: string, index: Index): Item {
  const [partition = '', sortKey = '', pk = '', sk = ''] = key.slice(1).split('\0');
  return {
    pk,
    sk,
    [index.pk]: partition,
    [index.sk]: marks.get(index) === 'd' ? numberOf(sortKey) : sortKey,
  };
}

/** The keys of a range, and perhaps some more, which the condition of the query leaves out. */
export function boundsOf({ index, partition, from, to, after, isForward }: Range): Bounds {
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

export function isWithin(key: string, { gt, gte, lt }: Bounds): boolean {
  if (gt !== undefined && compareKeys(key, gt) <= 0) return false;
  if (gte !== undefined && compareKeys(key, gte) < 0) return false;
  return compareKeys(key, lt) < 0;
}
