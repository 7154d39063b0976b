import { compareKeys } from '../key-order.ts';

/**
 * The key space below a path as a line: names that are hex hashes spread evenly over it, so a length of it
 * tells how many keys to expect. Any other name has a position too, in the order of names, so that it can be
 * counted; only the expectation fails there.
 */

/** Hex digits that a position is made of: 52 bits, which a double holds exactly. */
const digitsMax = 13;

/** One past the last position. */
export const keySpaceSize = 2 ** (4 * digitsMax);

/**
 * Names below a path, after `after` and up to and with `last`, in the order of their UTF-8 bytes. null stands
 * for the path's first and last name, whatever they are.
 *
 * Ranges that meet in a name share nothing and leave nothing out, and a range stays right while keys come
 * and go: it says which names are counted, not how many.
 */
export interface KeyRange {
  readonly after: string | null;
  readonly last: string | null;
  /** The folder whose names the positions are of; the path itself where it is left out. */
  readonly folder?: string;
}

/** All names below the path. */
export const wholeKeySpace: KeyRange = { after: null, last: null };

/**
 * Where a name lies, from 0 to {@link keySpaceSize}. Never falls as names rise. What is no lower-case hex
 * digit ends the number: it lies at the edge of the digits around it.
 */
export function positionOf(name: string): number {
  let position = 0;
  let unit = keySpaceSize;
  for (let index = 0; index < digitsMax && index < name.length; index += 1) {
    const code = name.charCodeAt(index);
    unit /= 16;
    if (code < 0x30) return position;
    if (code > 0x66) return position + 16 * unit;
    const isDigit = code <= 0x39;
    position += (isDigit ? code - 0x30 : code < 0x61 ? 10 : code - 0x57) * unit;
    if (!isDigit && code < 0x61) return position;
  }
  return position;
}

/** The name at a position: 13 hex digits, so no hash of 64 digits equals it. */
export function nameAt(position: number): string {
  return position.toString(16).padStart(digitsMax, '0');
}

/** How much of the key space a range takes up. 0 where its names can't be told apart by position. */
export function widthOf(range: KeyRange): number {
  const { from, to } = edgesOf(range);
  return Math.max(0, to - from);
}

function edgesOf({ after, last, folder = '' }: KeyRange): { from: number; to: number } {
  return {
    from: after === null ? 0 : positionBelow(folder, after),
    to: last === null ? keySpaceSize : positionBelow(folder, last),
  };
}

/** Where a name lies among those that begin with the folder; at an edge where it does not. */
function positionBelow(folder: string, name: string): number {
  if (name.startsWith(folder)) return positionOf(name.slice(folder.length));
  return compareKeys(name, folder) < 0 ? 0 : keySpaceSize;
}

/**
 * Parts a range into the names below a folder, whose positions are their own from then on, and those after it.
 *
 * @param folder ends with `/`; the range begins in it.
 */
export function splitAtFolder(
  range: KeyRange,
  folder: string,
): { readonly below: KeyRange; readonly beyond: KeyRange | undefined } {
  // The character after the slash: all names of the folder come before it.
  const end = `${folder.slice(0, -1)}0`;
  if (range.last !== null && compareKeys(range.last, end) <= 0) {
    return { below: { ...range, folder }, beyond: undefined };
  }
  return { below: { after: range.after, last: end, folder }, beyond: { ...range, after: end } };
}

/**
 * Cuts a range at shares of its width; what is too narrow to be cut is not.
 *
 * @param weights one for each range wanted, in any unit.
 * @returns the ranges in order, which together are exactly the one given, and the weight of each.
 */
export function cutRange(
  range: KeyRange,
  weights: readonly number[],
): readonly { readonly range: KeyRange; readonly weight: number }[] {
  const { from } = edgesOf(range);
  const width = widthOf(range);
  const { folder } = range;
  const part = (ends: { after: string | null; last: string | null }): KeyRange =>
    folder === undefined ? ends : { ...ends, folder };
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const parts: { range: KeyRange; weight: number }[] = [];
  let after = range.after;
  let lowest = from;
  let passed = 0;
  let pending = 0;
  for (const weight of weights.slice(0, -1)) {
    passed += weight;
    pending += weight;
    const cut = from + Math.floor((width * passed) / total);
    const isWithin = cut > lowest && cut < from + width;
    if (!isWithin) continue;
    const name = (folder ?? '') + nameAt(cut);
    parts.push({ range: part({ after, last: name }), weight: pending });
    after = name;
    lowest = cut;
    pending = 0;
  }
  parts.push({ range: part({ after, last: range.last }), weight: pending + (weights.at(-1) ?? 0) });
  return parts;
}
