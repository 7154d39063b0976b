import { type ByteRange, equalPieces, overlapOf, sizeOf } from './byte-range.ts';
import type { Layout, PlacedData } from './layout.ts';
import { copyPart, type Part, uploadPart } from './part.ts';

export interface FreeParts {
  /** 1 for an object that is to be copied, by its index. */
  readonly copied: Uint8Array;
  readonly partBytesMin: number;
  /** A worker holds an uploaded part in memory. */
  readonly uploadBytesMax: number;
  /** One request copies only so fast. */
  readonly copyBytesMax: number;
}

interface Copy extends ByteRange {
  readonly placed: PlacedData;
}

/**
 * Cuts a range of an archive into the parts of one upload, each as large as it may be. What a run before a copied
 * object lacks is cut from the end of the copy before it, then from the head of the object. An object that cannot give
 * enough is uploaded.
 */
export function* freeParts(layout: Layout, range: ByteRange, settings: FreeParts): Generator<Part> {
  let last: Copy | undefined;
  let runStart = range.startByte;
  for (const placed of layout.dataIn(range)) {
    if (settings.copied[placed.objectIndex] !== 1) continue;
    const shared = overlapOf(placed, range);
    const cut = cutRun({ last, runStart, placed, range, partBytesMin: settings.partBytesMin });
    if (!cut) continue;
    const { tailBytes, headBytes } = cut;
    if (last) yield* copies({ ...last, endByte: last.endByte - tailBytes }, settings);
    const endByte = shared.startByte + headBytes;
    yield* uploads({ startByte: runStart - tailBytes, endByte }, settings);
    last = { placed, startByte: endByte, endByte: shared.endByte };
    runStart = shared.endByte;
  }
  if (last) yield* copies(last, settings);
  yield* uploads({ startByte: runStart, endByte: range.endByte }, settings);
}

/**
 * How the run before an object gets its bytes: so many from the end of the copy before, so many from the object's head.
 *
 * @returns undefined if the object is not to be copied.
 */
function cutRun(input: {
  last: Copy | undefined;
  runStart: number;
  placed: PlacedData;
  range: ByteRange;
  partBytesMin: number;
}): { tailBytes: number; headBytes: number } | undefined {
  const { last, runStart, placed, range, partBytesMin } = input;
  const shared = overlapOf(placed, range);
  const runBytes = shared.startByte - runStart;
  // Without a run the copy is the first part of the upload.
  const lacking = runBytes === 0 ? 0 : Math.max(0, partBytesMin - runBytes);
  const tailBytes = last ? Math.min(lacking, sizeOf(last) - partBytesMin) : 0;
  const headBytes = lacking - tailBytes;
  const copiedBytes = sizeOf(shared) - headBytes;
  if (copiedBytes >= partBytesMin) return { tailBytes, headBytes };
  // The last part may be smaller, if that spares more than it takes. Of an object that is no larger than a part, a
  // store copies no range.
  const isLast = shared.endByte === range.endByte && placed.object.sizeBytes > partBytesMin;
  return isLast && copiedBytes > tailBytes ? { tailBytes, headBytes } : undefined;
}

function* copies({ placed, startByte, endByte }: Copy, { copyBytesMax }: FreeParts): Generator<Part> {
  for (const piece of equalPieces({ startByte, endByte }, copyBytesMax)) yield copyPart(piece, placed);
}

function* uploads(range: ByteRange, { uploadBytesMax }: FreeParts): Generator<Part> {
  for (const piece of equalPieces(range, uploadBytesMax)) yield uploadPart(piece);
}
