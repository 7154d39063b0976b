/** Bytes from `startByte` up to, and without, `endByte`. */
export interface ByteRange {
  readonly startByte: number;
  readonly endByte: number;
}

/** How many bytes a range has. */
export function sizeOf(range: ByteRange): number {
  return range.endByte - range.startByte;
}

/** What two ranges share. Empty, or even negative in size, if they do not meet. */
export function overlapOf(a: ByteRange, b: ByteRange): ByteRange {
  return {
    startByte: Math.max(a.startByte, b.startByte),
    endByte: Math.min(a.endByte, b.endByte),
  };
}

/** The same range, so many bytes further on. */
export function movedBy(range: ByteRange, bytes: number): ByteRange {
  return { startByte: range.startByte + bytes, endByte: range.endByte + bytes };
}

/** A range in pieces of nearly the same size, none larger than `pieceBytesMax`, as few as can be. */
export function* equalPieces(range: ByteRange, pieceBytesMax: number): Generator<ByteRange> {
  const sizeBytes = sizeOf(range);
  const pieces = Math.ceil(sizeBytes / pieceBytesMax);
  const edge = (piece: number) => range.startByte + Math.floor((sizeBytes / pieces) * piece);
  for (let piece = 0; piece < pieces; piece += 1) {
    const isLast = piece === pieces - 1;
    yield { startByte: edge(piece), endByte: isLast ? range.endByte : edge(piece + 1) };
  }
}
