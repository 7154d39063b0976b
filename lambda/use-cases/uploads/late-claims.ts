import { sumClaims } from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { AdmitUploadDeps, BatchAttempt } from './batch-attempt.ts';
import { type LimitState, limitsOf } from './limit-state.ts';

/** Whether a batch has to wait, by its tenant as it was read. */
export type LateCheck = (tenant: TenantRecord) => Promise<LateVerdict>;

export type LateVerdict =
  /** The time until which it has to wait. */
  | { readonly kind: 'waits'; readonly untilMs: number }
  /** It may go on while the counters hold no more than this, so batches at once claim no more than one after the other. */
  | { readonly kind: 'free'; readonly beforeMax: BeforeMax };

/** Bytes of the counters of the tenant, and of the repo. undefined: no matter what they hold. */
export interface BeforeMax {
  readonly tenantBytes?: number;
  readonly repoBytes?: number;
}

/**
 * Whether a batch has to wait because of what the same people claimed before and never sent. What somebody has claimed
 * already, live or late, adds nothing: so an upload that broke off can be sent again. To know that, the repo's
 * reservations are read, once, and only if it matters.
 */
export function lateCheckOf(
  deps: Pick<AdmitUploadDeps, 'ledger' | 'clock'>,
  batch: { attempt: BatchAttempt; missing: ReadonlyMap<string, number>; madeBy: string | undefined },
): LateCheck {
  const { attempt, missing, madeBy } = batch;
  let unclaimed: ReadonlyMap<string, number> | undefined;
  return async (tenant) => {
    const nowMs = deps.clock.nowMs();
    const crowdUntilMs = tenant.late?.crowd?.get(madeBy ?? '') ?? 0;
    // Another claim of the same object is one more to hold.
    if (missing.size > 0 && nowMs <= crowdUntilMs) return { kind: 'waits', untilMs: crowdUntilMs };
    const limits = limitsOf(tenant, { repo: attempt.reservation.repo, nowMs });
    const verdictOn = (claims: ReadonlyMap<string, number>) =>
      checkLate(limits, { madeBy, bytes: sumClaims(claims), nowMs });
    const verdict = verdictOn(missing);
    if (verdict.kind === 'free') return verdict;
    unclaimed ??= await findUnclaimed(deps, batch);
    return unclaimed.size === 0 ? { kind: 'free', beforeMax: {} } : verdictOn(unclaimed);
  };
}

/**
 * What no other reservation of the repo claims at this size or a larger one. One that isn't issued says nothing: two batches
 * at once would vouch for each other.
 */
async function findUnclaimed(
  { ledger }: Pick<AdmitUploadDeps, 'ledger'>,
  { attempt, missing }: { attempt: BatchAttempt; missing: ReadonlyMap<string, number> },
): Promise<ReadonlyMap<string, number>> {
  const { tenant, reservation } = attempt;
  const unclaimed = new Map(missing);
  for await (const page of ledger.reservationsOf({ tenant, repo: reservation.repo, ofUploads: true }))
    for (const { id, state, claims } of page) {
      if (id === reservation.id || state !== 'issued') continue;
      for (const [oid, sizeBytes] of claims)
        if ((unclaimed.get(oid) ?? Number.POSITIVE_INFINITY) <= sizeBytes) unclaimed.delete(oid);
    }
  return unclaimed;
}

/**
 * Whether somebody has to wait before they claim so much that nobody has claimed yet. They've claimed more than a
 * tenth of a limit that never arrived. If what is live now, and what they ask for, became late as well, there would be
 * more of it than the limit, and it would take up everybody's room for a day.
 */
export function checkLate(
  limits: readonly LimitState[],
  asked: { madeBy: string | undefined; bytes: number; nowMs: number },
): LateVerdict {
  const { madeBy = '', bytes, nowMs } = asked;
  const untilMs: number[] = [];
  let beforeMax: BeforeMax = {};
  for (const { repo, late, limitBytes, committedBytes = 0, countedBytes } of limits) {
    const heldUntilMs = late?.makers.get(madeBy) ?? 0;
    if (!late || nowMs > heldUntilMs) continue;
    // What the counter holds of neither what is live nor what they ask for.
    const otherBytes = countedBytes + Math.max(0, late.bytes - limitBytes);
    const liveBytes = Math.max(0, committedBytes - otherBytes);
    const liveMaxBytes = limitBytes - late.bytes - bytes;
    if (liveBytes > liveMaxBytes) untilMs.push(heldUntilMs);
    const mostBytes = otherBytes + liveMaxBytes;
    beforeMax = { ...beforeMax, ...(repo === null ? { tenantBytes: mostBytes } : { repoBytes: mostBytes }) };
  }
  return untilMs.length === 0
    ? { kind: 'free', beforeMax }
    : { kind: 'waits', untilMs: Math.max(...untilMs) };
}
