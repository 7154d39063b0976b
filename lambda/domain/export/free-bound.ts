/**
 * The fewest bytes that a plan with free parts can upload. Each of the M objects that could be copied is either copied
 * or uploaded, and before each copied one stands an uploaded run of at least P bytes, the smallest part, since its own
 * head lies between two copies. With the u smallest of them uploaded, U bytes, there are M − u runs, of which at most u
 * have one of those in them, so U + (M − 2u)·P bytes go through; and never fewer than U and the S bytes that cannot be
 * copied at all. This is so within one upload: where a shard begins inside an object, that object needs no run.
 */
export interface FreeBound {
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
