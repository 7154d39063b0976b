import { compareKeys } from '../../rules/names.ts';

/**
 * The key space below a path as a line. Names that are hex hashes spread evenly over it, so the width of a part tells
 * how many keys to expect. Every other name has a position too, in the order of names, so it is counted correctly.
 * Only the expectation is wrong for such names.
 */

/** Hex digits of a position: 52 bits, which a double represents exactly. */
const digitsMax = 13;

/** One past the last position. */
export const keySpaceSize = 2 ** (4 * digitsMax);

/**
 * The names below a path that come after `after`, up to and including `last`, in the order of their UTF-8 bytes. null:
 * from the path's first name, or up to its last one.
 *
 * Two ranges that meet in a name have no name in common and leave none out. A range stays correct while keys are
 * created and deleted: it says which names are counted, not how many.
 */
export interface KeyRange {
  readonly after: string | null;
  readonly last: string | null;
  /** The folder to which positions are relative, with its closing slash. Default: the path itself. */
  readonly folder?: string;
}

/** All names below the path. */
export const wholeKeySpace: KeyRange = { after: null, last: null };

/**
 * The position of a name, from 0 to {@link keySpaceSize}. A later name never has a smaller position. The first
 * character that is not a lower-case hex digit ends the number, and places the name between the digits around it.
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

/** The name at a position: 13 hex digits, so it never equals a hash of 64 digits. */
export function nameAt(position: number): string {
  return position.toString(16).padStart(digitsMax, '0');
}

/** How much of the key space a range covers. 0 if its names do not differ in position. */
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

/** The position of a name among the names of a folder. A name outside the folder is at the nearer edge. */
export function positionBelow(folder: string, name: string): number {
  if (name.startsWith(folder)) return positionOf(name.slice(folder.length));
  return compareKeys(name, folder) < 0 ? 0 : keySpaceSize;
}

/**
 * Splits a range into the names below a folder, which get positions relative to it, and the names after the folder.
 *
 * @param folder ends with `/`. The range begins in it.
 */
export function splitAtFolder(
  range: KeyRange,
  folder: string,
): { readonly below: KeyRange; readonly beyond: KeyRange | undefined } {
  // `0` is the character after the slash, so all names of the folder come before this name.
  const end = `${folder.slice(0, -1)}0`;
  if (range.last !== null && compareKeys(range.last, end) <= 0) {
    return { below: { ...range, folder }, beyond: undefined };
  }
  return { below: { after: range.after, last: end, folder }, beyond: { ...range, after: end } };
}

/**
 * Cuts a range into parts whose widths are in the ratio of the weights. Parts that would be too narrow are merged.
 *
 * @param weights one for each part, in any unit.
 * @returns the parts in order, each with its weight. Together they are exactly the given range.
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

/** How many keys a range is expected to hold. */
export interface Estimate {
  readonly keys: number;
  /** Standard error of the density behind it, as a fraction. 0: the number was counted, not estimated. */
  readonly relativeError: number;
  /** Set if keys are skewed: the width, from the beginning of the range, that the estimate is valid for. */
  readonly reach?: number;
}

/** Keys that were counted in a part of the key space, and the width of that part. */
export interface Sample {
  readonly keys: number;
  readonly width: number;
}

/** Standard deviation of the number of keys in a range: from the randomness of hashes and from the estimate. */
export function deviation(estimate: Estimate): number {
  return Math.hypot(Math.sqrt(estimate.keys), estimate.relativeError * estimate.keys);
}
