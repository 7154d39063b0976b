/** Which claims of a request fit: pure arithmetic. */

/** What is taken up below a limit. */
export interface Bound {
  readonly baseBytes: number;
  /** null: unlimited. */
  readonly limitBytes: number | null;
}

export interface ClaimChoice {
  /** oid → bytes of the claims that fit, in the order of the request. */
  readonly chosen: ReadonlyMap<string, number>;
  /** oid → bytes of the claims that do not fit. */
  readonly refused: ReadonlyMap<string, number>;
  /** What the chosen claims add to each base. */
  readonly addedBytes: number;
}

/**
 * Chooses the claims that fit between base and limit of every bound, in the order of the request. A claim that is too
 * large does not keep out a smaller one behind it.
 *
 * @param input.claims oid → bytes.
 * @param input.isFree true for an oid whose claim adds nothing, because it is stored or promised already.
 */
export function chooseWithinLimits(input: {
  claims: ReadonlyMap<string, number>;
  bounds: readonly Bound[];
  isFree: (oid: string) => boolean;
}): ClaimChoice {
  const roomBytes = Math.min(
    ...input.bounds.map(({ baseBytes, limitBytes }) => (limitBytes ?? Number.MAX_SAFE_INTEGER) - baseBytes),
  );
  const chosen = new Map<string, number>();
  const refused = new Map<string, number>();
  let addedBytes = 0;
  for (const [oid, sizeBytes] of input.claims) {
    const moreBytes = input.isFree(oid) ? 0 : sizeBytes;
    if (addedBytes + moreBytes <= roomBytes) {
      chosen.set(oid, sizeBytes);
      addedBytes += moreBytes;
    } else {
      refused.set(oid, sizeBytes);
    }
  }
  return { chosen, refused, addedBytes };
}
