import { ascendingBy, type EntrySizes } from './entry-sizes.ts';
import { freeBound } from './free-bound.ts';
import { LeastFilled } from './least-filled.ts';

/** In which order the objects lie in the archive, and which of them are copied. */
export interface FreeOrder {
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
