/**
 * CRC-32 as zip has it, of data whose parts were hashed apart. A CRC is linear over GF(2): that of A followed by B is
 * that of A, moved on by the length of B, exclusive-or that of B. To move on by a length is a multiplication with
 * x^(8 · length) modulo the polynomial.
 */

/** The polynomial with its bits reversed: the coefficient of x^0 is the highest bit. */
const polynomial = 0xedb88320;
const one = 0x80000000;
/** x^8: a step by one byte. */
const byteStep = 0x00800000;

/** The product of two polynomials, modulo the CRC's. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = one; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ polynomial;
  }
  return product >>> 0;
}

/** x^(8 · bytes) modulo the polynomial, by repeated squaring. */
function stepOf(bytes: number): number {
  let step = one;
  let square = byteStep;
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) step = multiply(step, square);
    square = multiply(square, square);
  }
  return step;
}

/** The CRC-32 of some bytes, and how many they are. */
interface Crc32Piece {
  readonly crc32: number;
  readonly sizeBytes: number;
}

/** The CRC-32 of pieces that follow each other, from the CRC-32 of each. That of nothing is 0. */
export function combineCrc32(pieces: Iterable<Crc32Piece>): number {
  let combined = 0;
  for (const { crc32, sizeBytes } of pieces) combined = multiply(combined, stepOf(sizeBytes)) ^ crc32;
  return combined >>> 0;
}
