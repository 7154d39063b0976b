import fc from 'fast-check';

/**
 * Each code point, but halves of pairs. As `unit: 'binary'` of fast-check, which takes a second to list them all, and 100 MB for
 * as long as the process lives.
 */
export const anyCharacter = fc
  .nat(0x10ffff - 0x800)
  .map((place) => String.fromCodePoint(place < 0xd800 ? place : place + 0x800));
