import type { ArchiveFormat } from './archive-format.ts';
import { memberName } from './member-name.ts';
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
    const headBytes = format.headBytes({ name: memberName(object), sizeBytes });
    heads[index] = headBytes;
    data[index] = sizeBytes;
    totals[index] = headBytes + sizeBytes + format.padBytes(sizeBytes);
  }
  return { heads, data, totals };
}

/** The indices that a test accepts, from the smallest value to the largest. Equal values keep their order. */
export function ascendingBy(values: Float64Array, accepts: (index: number) => boolean): Uint32Array {
  const chosen = Uint32Array.from(values.keys()).filter(accepts);
  return chosen.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0) || a - b);
}
