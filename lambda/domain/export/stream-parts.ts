import type { ByteRange } from './byte-range.ts';
import { type Part, uploadPart } from './part.ts';

/** Cuts a range of an archive into parts of one size, the last smaller, all of them uploaded. */
export function* streamParts(range: ByteRange, partBytes: number): Generator<Part> {
  for (let startByte = range.startByte; startByte < range.endByte; startByte += partBytes)
    yield uploadPart({ startByte, endByte: Math.min(startByte + partBytes, range.endByte) });
}
