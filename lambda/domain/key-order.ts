/**
 * Compares two object keys as S3 orders them: by their UTF-8 bytes.
 *
 * JavaScript's `<` compares UTF-16 units. It puts characters beyond U+FFFF (surrogates, 0xD800 to 0xDFFF) before those
 * from U+E000 to U+FFFF, but UTF-8 puts them after.
 *
 * @returns below 0, 0 or above 0, as for `Array.sort`.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return utf8Rank(unitA) - utf8Rank(unitB);
  }
  return a.length - b.length;
}

/** Moves surrogates behind all other units, and keeps every other order. */
function utf8Rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit;
}
