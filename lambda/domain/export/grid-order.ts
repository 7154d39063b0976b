import { ascendingBy, type EntrySizes } from './entry-sizes.ts';
import { SortedPool } from './sorted-pool.ts';

/**
 * An order for a grid. An object of c whole cells and a remainder has c cells inside it if the remainder carries it
 * over one more edge of the grid, and else c − 1. So each edge that is not inside an object should be crossed by such a
 * remainder: first comes the large object with the smallest remainder that still carries, else the largest small
 * object that does not reach the edge.
 *
 * @param input.startByte where the first object's head lies.
 * @returns the indices of all objects.
 */
export function gridOrder(
  sizes: EntrySizes,
  { cellBytes, startByte }: { cellBytes: number; startByte: number },
): Uint32Array {
  const { heads, data, totals } = sizes;
  /** How far a large object moves the position within the grid: its head and its remainder. */
  const steps = Float64Array.from(data, (bytes, index) => (heads[index] ?? 0) + (bytes % cellBytes));
  const isLarge = (index: number) => (data[index] ?? 0) >= cellBytes;
  const large = new SortedPool(ascendingBy(steps, isLarge), (index) => steps[index] ?? 0);
  const small = new SortedPool(
    ascendingBy(totals, (index) => !isLarge(index)),
    (index) => totals[index] ?? 0,
  );
  const order = new Uint32Array(data.length);
  let position = startByte % cellBytes;
  for (let place = 0; place < order.length; place += 1) {
    const toEdge = cellBytes - position;
    const index =
      large.takeAtLeast(toEdge) ??
      small.takeBelow(toEdge) ??
      large.takeBelow(Number.POSITIVE_INFINITY) ??
      small.takeBelow(Number.POSITIVE_INFINITY) ??
      0;
    order[place] = index;
    position = (position + (totals[index] ?? 0)) % cellBytes;
  }
  return order;
}
