/** The longest domain name: labels of up to 63 characters, 253 in all. */
export const longestHost = `${`${'h'.repeat(62)}.`.repeat(4).slice(0, -5)}.com`;

/** @param of is given its number, with two digits. */
export const listOf = <T>(length: number, of: (index: string) => T): T[] =>
  Array.from({ length }, (_, index) => of(String(index).padStart(2, '0')));
