/** Which objects of a request fit: pure arithmetic on claims. */

export interface Choice {
  /** oid → bytes of what fits, in request order. */
  readonly chosen: ReadonlyMap<string, number>;
  /** oid → bytes of what does not. */
  readonly refused: ReadonlyMap<string, number>;
  /** The base and what was chosen above it. */
  readonly usedBytes: number;
}

/**
 * Chooses, in the order of the request, what fits between a base and the limit. An object that is too large
 * does not keep a smaller one behind it out.
 *
 * @param input.addsNothing true for an oid that the base already holds: it is chosen for free.
 */
export function chooseWithin(input: {
  wanted: ReadonlyMap<string, number>;
  baseBytes: number;
  limitBytes: number | null;
  addsNothing: (oid: string) => boolean;
}): Choice {
  const limitBytes = input.limitBytes ?? Number.MAX_SAFE_INTEGER;
  const chosen = new Map<string, number>();
  const refused = new Map<string, number>();
  let usedBytes = input.baseBytes;
  for (const [oid, sizeBytes] of input.wanted) {
    const addedBytes = input.addsNothing(oid) ? 0 : sizeBytes;
    if (usedBytes + addedBytes <= limitBytes) {
      chosen.set(oid, sizeBytes);
      usedBytes += addedBytes;
    } else {
      refused.set(oid, sizeBytes);
    }
  }
  return { chosen, refused, usedBytes };
}

/** Identifies a claimed object within a tenant. An oid holds no slash, so the parts can't run into one another. */
export function claimKey(claim: { repo: string; oid: string }): string {
  return `${claim.repo}/${claim.oid}`;
}
