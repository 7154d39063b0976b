import { compareKeys } from '../rules/names.ts';

/** The keys of a page, as they are in it, one after the other. */
interface PageKeys {
  readonly keys: Buffer;
  readonly keyEnds: Uint32Array;
  /** The first byte by which each differs from the one before. */
  readonly differences: Uint32Array;
  readonly isUrlEncoded: boolean;
  /** The order of their bytes as they are. */
  readonly isAscending: boolean;
}

const ampersand = 0x26;
const percent = 0x25;
const plus = 0x2b;
/** Behind the digits of an escape, unless they are lower-case. */
const lowerCase = 0x60;

/** Whether each key comes after the one before it. Only those are decoded whose bytes don't tell. */
export function areAscending(page: PageKeys, count: number, keyAt: (index: number) => string): boolean {
  const { keys, keyEnds, differences, isUrlEncoded, isAscending } = page;
  const hasEntities = keys.includes(ampersand);
  const isEncoded = isUrlEncoded && (keys.includes(percent) || keys.includes(plus));
  if (!hasEntities && !isEncoded) return isAscending;
  const startOf = (index: number) => (index === 0 ? 0 : (keyEnds[index - 1] ?? 0));
  for (let index = 1; index < count; index += 1) {
    const [before, start, at] = [startOf(index - 1), startOf(index), differences[index] ?? 0];
    // The whole text of one begins the other.
    const isPart = at === start - before || at === startOf(index + 1) - start;
    const order =
      hasEntities || isPart ? undefined : orderOf(keys, { before: before + at, here: start + at, at });
    if ((order ?? compareKeys(keyAt(index), keyAt(index - 1))) <= 0) return false;
  }
  return true;
}

/** The order of two URL-encoded keys by the first bytes that differ. undefined: an escape begins there. */
function orderOf(keys: Buffer, place: { before: number; here: number; at: number }): number | undefined {
  const [before, here] = [keys[place.before] ?? 0, keys[place.here] ?? 0];
  const isEscape = (back: number) => place.at >= back && keys[place.here - back] === percent;
  const isWithin = isEscape(1) || isEscape(2);
  const isPlain = (byte: number) => (isWithin ? byte < lowerCase : byte !== percent && byte !== plus);
  return isPlain(before) && isPlain(here) ? here - before : undefined;
}
