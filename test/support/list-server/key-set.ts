import { Random } from '../random.ts';

/** Synthetic objects below one prefix. Their names are 64 hex digits, evenly spread. */
export interface KeySet {
  readonly prefix: string;
  readonly count: number;
  readonly totalBytes: number;
  /** The XML of all entries, in the order of their keys. */
  readonly entries: Buffer;
  /** The offset of each entry in {@link KeySet.entries}, and the end of the last one. */
  readonly starts: Float64Array;
}

/** The first objects of a set, by key: name below the prefix and size in bytes. */
export function firstObjects(set: KeySet, count: number): { name: string; sizeBytes: number }[] {
  const entries = set.entries.toString('latin1', 0, set.starts[Math.min(count, set.count)]);
  return [...entries.matchAll(/<Key>([^<]*)<\/Key>.*?<Size>(\d+)<\/Size>/g)].map(([, key = '', size]) => ({
    name: key.slice(set.prefix.length),
    sizeBytes: Number(size),
  }));
}

const keyOpen = '<Contents><Key>';
const entryTail = '<StorageClass>STANDARD</StorageClass></Contents>';

/** @param input.seed the same seed gives the same objects. */
export function makeKeySet(input: { prefix: string; count: number; seed: number }): KeySet {
  const { prefix, count } = input;
  const random = new Random(input.seed);
  const positions = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    positions[index] = random.uint32() * 2 ** 20 + Math.floor(random.uint32() / 2 ** 12);
  }
  positions.sort();
  const starts = new Float64Array(count + 1);
  const parts: Buffer[] = [];
  let totalBytes = 0;
  let length = 0;
  let text = '';
  for (let index = 0; index < count; index += 1) {
    const words = Array.from({ length: 6 }, () => random.uint32().toString(16).padStart(8, '0')).join('');
    // If two positions are equal, the index in the middle keeps the names different and in order.
    const number = index.toString(16).padStart(6, '0');
    const name = hex(positions[index] ?? 0) + number + words.slice(0, 45);
    const size = 1 + (random.uint32() % 5_000_000);
    totalBytes += size;
    starts[index] = length + text.length;
    text += entryOf(prefix + name, { etag: words.slice(0, 32), size });
    if (text.length > 1_000_000 || index === count - 1) {
      length += text.length;
      parts.push(Buffer.from(text, 'latin1'));
      text = '';
    }
  }
  starts[count] = length;
  return { prefix, count, totalBytes, entries: Buffer.concat(parts, length), starts };
}

function hex(position: number): string {
  return position.toString(16).padStart(13, '0');
}

function entryOf(key: string, { etag, size }: { etag: string; size: number }): string {
  return (
    `${keyOpen}${key}</Key><LastModified>2026-11-01T10:00:00.000Z</LastModified><ETag>&quot;${etag}&quot;</ETag>` +
    `<ChecksumAlgorithm>SHA256</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType><Size>${size}</Size>` +
    entryTail
  );
}

/** The key at this index. */
export function keyAt(set: KeySet, index: number): string {
  const start = (set.starts[index] ?? 0) + keyOpen.length;
  return set.entries.toString('latin1', start, start + set.prefix.length + 64);
}

/** The first index whose key comes after `key`, or, with `orEqual`, is not before it. */
export function firstAfter(set: KeySet, key: string, options: { orEqual: boolean }): number {
  let low = 0;
  let high = set.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = keyAt(set, middle);
    if (found > key || (options.orEqual && found === key)) high = middle;
    else low = middle + 1;
  }
  return low;
}
