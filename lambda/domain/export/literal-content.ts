import { crc32 } from 'node:zlib';
import type { ByteRange } from './byte-range.ts';

/** A file of an archive that no object of the store holds. Its bytes are made when they are read. */
export interface LiteralContent {
  readonly name: string;
  readonly sizeBytes: number;
  bytes(range: ByteRange): Uint8Array;
  crc32(): number;
}

/** A file whose bytes are here already. */
export function textContent(name: string, text: string): LiteralContent {
  const bytes = Buffer.from(text);
  return {
    name,
    sizeBytes: bytes.length,
    bytes: ({ startByte, endByte }) => bytes.subarray(startByte, endByte),
    crc32: () => crc32(bytes),
  };
}

/** Lines that are made and hashed at a time. */
const linesAtOnce = 4096;

/** A file of lines of the same length, in ASCII, each made when it is read. */
export function lineContent(
  name: string,
  lines: { readonly count: number; readonly bytesEach: number; readonly lineAt: (index: number) => string },
): LiteralContent {
  const { count, bytesEach, lineAt } = lines;
  const rendered = (first: number, end: number) => {
    let text = '';
    for (let index = first; index < end; index += 1) text += lineAt(index);
    return Buffer.from(text, 'latin1');
  };
  let known: number | undefined;
  return {
    name,
    sizeBytes: count * bytesEach,
    bytes({ startByte, endByte }) {
      const first = Math.floor(startByte / bytesEach);
      const whole = rendered(first, Math.min(count, Math.ceil(endByte / bytesEach)));
      return whole.subarray(startByte - first * bytesEach, endByte - first * bytesEach);
    },
    crc32() {
      if (known !== undefined) return known;
      let sum = 0;
      for (let first = 0; first < count; first += linesAtOnce)
        sum = crc32(rendered(first, Math.min(count, first + linesAtOnce)), sum);
      known = sum;
      return sum;
    },
  };
}

/** A long content is read in pieces of at most this size. */
const pieceBytes = 1024 ** 2;

/** A range of a content, in pieces that fit memory. */
export function* contentPieces(range: ByteRange): Generator<ByteRange> {
  for (let startByte = range.startByte; startByte < range.endByte; startByte += pieceBytes)
    yield { startByte, endByte: Math.min(range.endByte, startByte + pieceBytes) };
}
