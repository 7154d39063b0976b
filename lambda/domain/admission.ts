/** Which claims of a request fit: pure arithmetic. */

export interface ClaimChoice {
  /** oid → bytes of the claims that fit, in the order of the request. */
  readonly chosen: ReadonlyMap<string, number>;
  /** oid → bytes of the claims that do not fit. */
  readonly refused: ReadonlyMap<string, number>;
  /** The base plus what the chosen claims add to it. */
  readonly usedBytes: number;
}

/**
 * Chooses the claims that fit between a base and the limit, in the order of the request. A claim that is too large
 * does not keep out a smaller one behind it.
 *
 * @param input.claims oid → bytes.
 * @param input.limitBytes null: unlimited.
 * @param input.isFree true for an oid whose claim adds nothing, because it is stored or promised already.
 */
export function chooseWithinLimit(input: {
  claims: ReadonlyMap<string, number>;
  baseBytes: number;
  limitBytes: number | null;
  isFree: (oid: string) => boolean;
}): ClaimChoice {
  const limitBytes = input.limitBytes ?? Number.MAX_SAFE_INTEGER;
  const chosen = new Map<string, number>();
  const refused = new Map<string, number>();
  let usedBytes = input.baseBytes;
  for (const [oid, sizeBytes] of input.claims) {
    const addedBytes = input.isFree(oid) ? 0 : sizeBytes;
    if (usedBytes + addedBytes <= limitBytes) {
      chosen.set(oid, sizeBytes);
      usedBytes += addedBytes;
    } else {
      refused.set(oid, sizeBytes);
    }
  }
  return { chosen, refused, usedBytes };
}
