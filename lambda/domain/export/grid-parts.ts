import { type ByteRange, sizeOf } from './byte-range.ts';
import type { Layout } from './layout.ts';
import { copyPart, type Part, uploadPart } from './part.ts';

/**
 * Cuts a range of an archive into parts of one size, the last smaller: a grid. A cell that lies in one object is
 * copied, any other uploaded.
 */
export function* gridParts(layout: Layout, range: ByteRange, cellBytes: number): Generator<Part> {
  const data = layout.dataIn(range);
  let placed = data.next();
  for (let startByte = range.startByte; startByte < range.endByte; startByte += cellBytes) {
    const cell = { startByte, endByte: Math.min(startByte + cellBytes, range.endByte) };
    while (!placed.done && placed.value.endByte < cell.endByte) placed = data.next();
    const around = !placed.done && placed.value.startByte <= startByte ? placed.value : undefined;
    // Of an object that is no larger than a part, a store copies no range.
    const isCopied = around && (sizeOf(cell) === cellBytes || around.object.sizeBytes > cellBytes);
    yield isCopied ? copyPart(cell, around) : uploadPart(cell);
  }
}
