import type { ByteRange } from '../../../core/store/rules/archive-store.ts';
import { ascendingBy, type EntrySizes, type Layout, overlapOf, type PlacedData, sizeOf } from './layout.ts';
import type { StoredObject } from './objects.ts';

/** A part of an upload that the store copies from an object. */
interface CopyPart extends ByteRange {
  readonly kind: 'copy';
  readonly object: StoredObject;
  /** Which bytes of the object. undefined: all, so that the request names no range. */
  readonly source: ByteRange | undefined;
}

/** A part that a worker reads and uploads: `segmentsIn` of the layout says what is in it. */
interface UploadPart extends ByteRange {
  readonly kind: 'upload';
}

/** A part of a multipart upload. Its bounds are those in the archive. */
export type Part = CopyPart | UploadPart;

/** A part that copies this range of the archive, in which only that object lies. */
function copyPart(range: ByteRange, placed: ByteRange & { readonly object: StoredObject }): CopyPart {
  const { startByte, endByte } = range;
  const source = { startByte: startByte - placed.startByte, endByte: endByte - placed.startByte };
  const isWhole = source.startByte === 0 && source.endByte === placed.object.sizeBytes;
  return { kind: 'copy', startByte, endByte, object: placed.object, source: isWhole ? undefined : source };
}

export function uploadPart({ startByte, endByte }: ByteRange): UploadPart {
  return { kind: 'upload', startByte, endByte };
}

/** Items in ascending order of their values, which are taken one by one: the smallest from a value on, or the largest up to one. */
export class SortedPool {
  readonly #items: Uint32Array;
  readonly #values: Float64Array;
  /** Where to look for the next item that is still there, in either direction. Paths are halved as they are walked. */
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  size: number;

  /** @param items in ascending order of `valueOfItem`. */
  constructor(items: Uint32Array, valueOfItem: (item: number) => number) {
    this.#items = items;
    this.#values = Float64Array.from(items, valueOfItem);
    // Position i + 1 stands for item i, so that both ends have a position.
    this.#next = Int32Array.from({ length: items.length + 2 }, (_, position) => position);
    this.#previous = Int32Array.from(this.#next);
    this.size = items.length;
  }

  /** Takes the item with the smallest value that is at least this. */
  takeAtLeast(value: number): number | undefined {
    return this.#take(find(this.#next, this.#countBelow(value) + 1));
  }

  /** Takes the item with the largest value that is less than this. */
  takeBelow(value: number): number | undefined {
    return this.#take(find(this.#previous, this.#countBelow(value)));
  }

  #take(position: number): number | undefined {
    if (position === 0 || position === this.#items.length + 1) return undefined;
    this.#next[position] = position + 1;
    this.#previous[position] = position - 1;
    this.size -= 1;
    return this.#items[position - 1];
  }

  #countBelow(value: number): number {
    let low = 0;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#values[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function find(links: Int32Array, from: number): number {
  let at = from;
  for (;;) {
    const to = links[at] ?? at;
    if (to === at) return at;
    links[at] = links[to] ?? to;
    at = to;
  }
}

/**
 * An order for a grid. An object of c whole cells and a remainder has c cells inside it if the remainder carries it
 * over one more edge of the grid, and else c − 1. So each edge that is not inside an object should be crossed by such a
 * remainder: first comes the large object with the smallest remainder that still carries, else the largest small
 * object that does not reach the edge. Padding gains nothing: it uploads the same bytes, and makes the archive larger.
 *
 * @param input.startByte where the first object's head lies.
 * @returns the indices of all objects.
 */
export function gridOrder(
  sizes: EntrySizes,
  { cellBytes, startByte }: { cellBytes: number; startByte: number },
): Uint32Array {
  const { heads, data, totals } = sizes;
  /** How far a large object moves the position within the grid: its head and its remainder. */
  const steps = Float64Array.from(data, (bytes, index) => (heads[index] ?? 0) + (bytes % cellBytes));
  const isLarge = (index: number) => (data[index] ?? 0) >= cellBytes;
  const large = new SortedPool(ascendingBy(steps, isLarge), (index) => steps[index] ?? 0);
  const small = new SortedPool(
    ascendingBy(totals, (index) => !isLarge(index)),
    (index) => totals[index] ?? 0,
  );
  const order = new Uint32Array(data.length);
  let position = startByte % cellBytes;
  for (let place = 0; place < order.length; place += 1) {
    const toEdge = cellBytes - position;
    const index =
      large.takeAtLeast(toEdge) ??
      small.takeBelow(toEdge) ??
      large.takeBelow(Number.POSITIVE_INFINITY) ??
      small.takeBelow(Number.POSITIVE_INFINITY) ??
      0;
    order[place] = index;
    position = (position + (totals[index] ?? 0)) % cellBytes;
  }
  return order;
}

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

/** Bins of which the least filled is always at hand: a binary heap. */
export class LeastFilled {
  readonly #bins: Uint32Array;
  readonly fills: Float64Array;

  /** @param fills of the bins, which this changes. They must be equal to begin with. */
  constructor(fills: Float64Array) {
    this.fills = fills;
    this.#bins = Uint32Array.from(fills.keys());
  }

  /** The least filled bin. undefined if there is none. */
  get least(): number | undefined {
    return this.#bins[0];
  }

  /** Adds to the least filled bin. */
  add(amount: number): void {
    const { fills } = this;
    const bins = this.#bins;
    const moved = bins[0];
    if (moved === undefined) return;
    const fill = (fills[moved] ?? 0) + amount;
    fills[moved] = fill;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= bins.length) break;
      if (child + 1 < bins.length && this.#fillAt(child + 1) < this.#fillAt(child)) child += 1;
      if (this.#fillAt(child) >= fill) break;
      bins[at] = bins[child] ?? 0;
      at = child;
    }
    bins[at] = moved;
  }

  #fillAt(place: number): number {
    return this.fills[this.#bins[place] ?? 0] ?? 0;
  }
}

/**
 * The fewest bytes that a plan with free parts can upload. Each of the M objects that could be copied is either copied
 * or uploaded, and before each copied one stands an uploaded run of at least P bytes, the smallest part, since its own
 * head lies between two copies. With the u smallest of them uploaded, U bytes, there are M − u runs, of which at most u
 * have one of those in them, so U + (M − 2u)·P bytes go through; and never fewer than U and the S bytes that cannot be
 * copied at all. This is so within one upload: where a shard begins inside an object, that object needs no run.
 */
interface FreeBound {
  /** u: how many of the copyable objects are to be uploaded, the smallest. */
  readonly uploadedCount: number;
  readonly throughBytes: number;
}

/**
 * @param input.copyableSizes of the objects that may be copied, ascending.
 * @param input.otherBytes everything else in the archive: S.
 */
export function freeBound(input: {
  copyableSizes: Float64Array;
  otherBytes: number;
  partBytesMin: number;
}): FreeBound {
  const { copyableSizes, otherBytes, partBytesMin } = input;
  const count = copyableSizes.length;
  let best: FreeBound = { uploadedCount: 0, throughBytes: Number.POSITIVE_INFINITY };
  let uploadedBytes = 0;
  for (let uploadedCount = 0; uploadedCount <= count; uploadedCount += 1) {
    const runBytes = (count - 2 * uploadedCount) * partBytesMin;
    const throughBytes = uploadedBytes + Math.max(otherBytes, runBytes);
    if (throughBytes < best.throughBytes) best = { uploadedCount, throughBytes };
    uploadedBytes += copyableSizes[uploadedCount] ?? 0;
  }
  return best;
}

/** In which order the objects lie in the archive, and which of them are copied. */
interface FreeOrder {
  readonly order: Uint32Array;
  /** 1 for an object that is to be copied, by its index. */
  readonly copied: Uint8Array;
}

/** Objects that lie in one uploaded run, before a copied object. */
interface Run {
  /** The copied object behind the run. */
  object: number;
  readonly fillers: number[];
  /** What the run has of its own. */
  fillBytes: number;
}

/**
 * An order for parts of any size. Before each copied object the archive needs an uploaded run of at least the smallest
 * part. It is filled with objects that are uploaded anyway; the rest is cut from the copied objects beside it
 * ({@link freeParts} does that).
 *
 * 1. {@link freeBound} says how many copyable objects are better uploaded: each fills a run alone.
 * 2. Objects too small to copy go to the other runs, the largest first, each to the least filled one.
 * 3. The emptiest run stands before the largest object, which has most to give.
 * 4. A run whose object has too little to give stands behind one that has some left.
 *
 * @param input.partBytesMin smaller objects are uploaded.
 */
export function freeOrder(sizes: EntrySizes, { partBytesMin }: { partBytesMin: number }): FreeOrder {
  const { data, totals } = sizes;
  const copyable = ascendingBy(data, (index) => (data[index] ?? 0) >= partBytesMin);
  const small = ascendingBy(totals, (index) => (data[index] ?? 0) < partBytesMin).reverse();
  const copyableSizes = Float64Array.from(copyable, (index) => data[index] ?? 0);
  const allBytes = totals.reduce((sum, bytes) => sum + bytes, 0);
  const otherBytes = allBytes - copyableSizes.reduce((sum, bytes) => sum + bytes, 0);
  const { uploadedCount } = freeBound({ copyableSizes, otherBytes, partBytesMin });
  const copies = copyable.subarray(uploadedCount);
  const copied = new Uint8Array(data.length);
  for (const index of copies) copied[index] = 1;

  const runs = Array.from(copies, (object): Run => ({ object, fillers: [], fillBytes: 0 }));
  const left = fillRuns(runs, { uploaded: copyable.subarray(0, uploadedCount), small, sizes, partBytesMin });
  // The runs with the least in them first, then the largest objects.
  runs.sort((a, b) => a.fillBytes - b.fillBytes);
  for (const [place, run] of runs.entries()) run.object = copies[copies.length - 1 - place] ?? run.object;
  const sequence = helpersFirst(runs, (run) => leftOver(run, data, partBytesMin));
  const order = new Uint32Array(data.length);
  let place = 0;
  for (const { fillers, object } of sequence)
    for (const index of [...fillers, object]) {
      order[place] = index;
      place += 1;
    }
  order.set(left, place);
  return { order, copied };
}

/** Puts into the runs what is uploaded anyway. @returns what no run needs. */
function fillRuns(
  runs: readonly Run[],
  input: { uploaded: Uint32Array; small: Uint32Array; sizes: EntrySizes; partBytesMin: number },
): Uint32Array {
  const { uploaded, small, sizes, partBytesMin } = input;
  const { totals } = sizes;
  const put = (run: Run | undefined, index: number) => {
    run?.fillers.push(index);
    if (run) run.fillBytes += totals[index] ?? 0;
  };
  for (const [place, index] of uploaded.subarray(0, runs.length).entries()) put(runs[place], index);
  const open = runs.slice(uploaded.length);
  const bins = new LeastFilled(new Float64Array(open.length));
  let used = 0;
  for (const index of small) {
    const least = bins.least;
    if (least === undefined || (bins.fills[least] ?? 0) >= partBytesMin) break;
    put(open[least], index);
    bins.add(totals[index] ?? 0);
    used += 1;
  }
  return Uint32Array.from([...uploaded.subarray(runs.length), ...small.subarray(used)]);
}

/** What a copied object could give to the run behind it, after its own. Negative: its own run lacks so much. */
function leftOver(run: Run, data: Float64Array, partBytesMin: number): number {
  return (data[run.object] ?? 0) - partBytesMin - Math.max(0, partBytesMin - run.fillBytes);
}

/** Runs that lack bytes, each behind one that has them. Those that lack most choose first. */
function helpersFirst(runs: readonly Run[], leftOverOf: (run: Run) => number): Run[] {
  const measured = runs.map((run) => ({ run, left: leftOverOf(run) }));
  const lacking = measured.filter(({ left }) => left < 0).sort((a, b) => a.left - b.left);
  const helping = measured.filter(({ left }) => left >= 0).sort((a, b) => b.left - a.left);
  const sequence = helping.flatMap(({ run }, place) => {
    const helped = lacking[place]?.run;
    return helped ? [run, helped] : [run];
  });
  return [...sequence, ...lacking.slice(helping.length).map(({ run }) => run)];
}

interface FreeParts {
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

/** A range in pieces of nearly the same size, none larger than `pieceBytesMax`, as few as can be. */
function* equalPieces(range: ByteRange, pieceBytesMax: number): Generator<ByteRange> {
  const sizeBytes = sizeOf(range);
  const pieces = Math.ceil(sizeBytes / pieceBytesMax);
  const edge = (piece: number) => range.startByte + Math.floor((sizeBytes / pieces) * piece);
  for (let piece = 0; piece < pieces; piece += 1) {
    const isLast = piece === pieces - 1;
    yield { startByte: edge(piece), endByte: isLast ? range.endByte : edge(piece + 1) };
  }
}
