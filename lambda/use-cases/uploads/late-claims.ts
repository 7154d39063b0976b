import { sumClaims } from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { AdmitUploadDeps, BatchAttempt } from './batch-attempt.ts';
import { type LimitState, limitsOf } from './limit-state.ts';

/** Until when a batch has to wait, by its tenant as it was read. undefined: it need not. */
export type LateUntilMs = (tenant: TenantRecord) => Promise<number | undefined>;

/**
 * Whether a batch has to wait because of what the same people claimed before and never sent. What somebody has claimed
 * already, live or late, adds nothing: so an upload that broke off can be sent again. To know that, the repo's
 * reservations are read, once, and only if it matters.
 */
export function lateUntilMsOf(
  deps: Pick<AdmitUploadDeps, 'ledger' | 'clock'>,
  batch: { attempt: BatchAttempt; missing: ReadonlyMap<string, number>; madeBy: string | undefined },
): LateUntilMs {
  const { attempt, missing, madeBy } = batch;
  let unclaimed: ReadonlyMap<string, number> | undefined;
  return async (tenant) => {
    const nowMs = deps.clock.nowMs();
    const limits = limitsOf(tenant, { repo: attempt.reservation.repo, nowMs });
    const untilMs = (claims: ReadonlyMap<string, number>) =>
      waitsForLateMs(limits, { madeBy, bytes: sumClaims(claims), nowMs });
    if (untilMs(missing) === undefined) return undefined;
    unclaimed ??= await findUnclaimed(deps, batch);
    return unclaimed.size === 0 ? undefined : untilMs(unclaimed);
  };
}

/** What no other reservation of the repo claims at this size or a larger one. */
async function findUnclaimed(
  { ledger }: Pick<AdmitUploadDeps, 'ledger'>,
  { attempt, missing }: { attempt: BatchAttempt; missing: ReadonlyMap<string, number> },
): Promise<ReadonlyMap<string, number>> {
  const { tenant, reservation } = attempt;
  const unclaimed = new Map(missing);
  for await (const page of ledger.reservationsOf({ tenant, repo: reservation.repo, ofUploads: true }))
    for (const { id, claims } of page) {
      if (id === reservation.id) continue;
      for (const [oid, sizeBytes] of claims)
        if ((unclaimed.get(oid) ?? Number.POSITIVE_INFINITY) <= sizeBytes) unclaimed.delete(oid);
    }
  return unclaimed;
}

/**
 * Until when somebody has to wait before they claim so much that nobody has claimed yet. They've claimed more than a
 * tenth of a limit that never arrived. If what is live now, and what they ask for, became late as well, there would be
 * more of it than the limit, and it would take up everybody's room for a day.
 *
 * @returns undefined: they need not wait.
 */
export function waitsForLateMs(
  limits: readonly LimitState[],
  asked: { madeBy: string | undefined; bytes: number; nowMs: number },
): number | undefined {
  const { madeBy = '', bytes, nowMs } = asked;
  const untilMs = limits.flatMap(({ late, limitBytes, committedBytes = 0, countedBytes }) => {
    const heldUntilMs = late?.makers.get(madeBy) ?? 0;
    if (!late || nowMs > heldUntilMs) return [];
    const liveBytes = Math.max(0, committedBytes - countedBytes - Math.max(0, late.bytes - limitBytes));
    return late.bytes + liveBytes + bytes > limitBytes ? [heldUntilMs] : [];
  });
  return untilMs.length === 0 ? undefined : Math.max(...untilMs);
}
