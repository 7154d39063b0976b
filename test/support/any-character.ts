import fc from 'fast-check';

/**
 * Each code point, halves of pairs as well. As `unit: 'binary'` of fast-check, which takes a second, and 100 MB for as long as
 * the process lives, to list them all.
 */
export const anyCharacter = fc.nat(0x10ffff).map((codePoint) => String.fromCodePoint(codePoint));
