import type { ArchiveFormat } from './archive-format.ts';
import { nameLike } from './member-name.ts';
import type { StoredObject } from './stored-object.ts';

/** What each object takes in an archive, in bytes, by its index. The rules of the order work on these alone. */
export interface EntrySizes {
  /** Before its bytes. */
  readonly heads: Float64Array;
  /** Its own. */
  readonly data: Float64Array;
  /** All, with head and padding. */
  readonly totals: Float64Array;
}

export function entrySizesOf(objects: readonly StoredObject[], format: ArchiveFormat): EntrySizes {
  const heads = new Float64Array(objects.length);
  const data = new Float64Array(objects.length);
  const totals = new Float64Array(objects.length);
  for (const [index, object] of objects.entries()) {
    const { sizeBytes } = object;
    const headBytes = format.headBytes({ name: nameLike(object), sizeBytes });
    heads[index] = headBytes;
    data[index] = sizeBytes;
    totals[index] = headBytes + sizeBytes + format.padBytes(sizeBytes);
  }
  return { heads, data, totals };
}

/**
 * The indices that a test accepts, from the smallest value to the largest. Equal values keep their order.
 *
 * @param values whole numbers, none below 0.
 */
export function ascendingBy(values: Float64Array, accepts: (index: number) => boolean): Uint32Array {
  const chosen = new Uint32Array(values.length);
  let count = 0;
  let largest = 0;
  for (let index = 0; index < values.length; index += 1) {
    if (!accepts(index)) continue;
    chosen[count] = index;
    count += 1;
    largest = Math.max(largest, values[index] ?? 0);
  }
  const sorted = chosen.subarray(0, count);
  if ((largest + 1) * values.length > Number.MAX_SAFE_INTEGER)
    return sorted.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0) || a - b);
  // Value and index as one number: numbers are sorted without a call for each comparison, which a new process has not
  // compiled yet.
  const keys = new Float64Array(count);
  for (let place = 0; place < count; place += 1) {
    const index = sorted[place] ?? 0;
    keys[place] = (values[index] ?? 0) * values.length + index;
  }
  keys.sort();
  for (let place = 0; place < count; place += 1) sorted[place] = (keys[place] ?? 0) % values.length;
  return sorted;
}
