import { type LimitState, limitsOf } from './rules/limits.ts';
import { sumEntries } from './rules/reservation.ts';
import { entriesMaxOf, type TenantRecord } from './rules/tenant.ts';
import type { AddOutcome } from './tenant-counter-store.ts';
import type { AdmitUploadDeps, BatchAttempt } from './upload-batch.ts';

/** Whether a batch has to wait, by its tenant as it was read. */
export type UnconfirmedCheck = (tenant: TenantRecord) => Promise<UnconfirmedVerdict>;

type UnconfirmedVerdict =
  /** The time until which it has to wait. */
  | { readonly kind: 'waits'; readonly untilMs: number }
  /** It may go on while the counters hold no more than this, so batches at once claim no more than one after the other. */
  | { readonly kind: 'free'; readonly beforeMax: BeforeMax };

/** Bytes of the counters of the tenant, and of the repo. undefined: no matter what they hold. */
interface BeforeMax {
  readonly tenantBytes?: number;
  readonly repoBytes?: number;
}

/**
 * Whether a batch has to wait because of what the same people claimed before and never sent. What somebody has claimed
 * already, live or late, adds nothing: so an upload that broke off can be sent again. To know that, the repo's
 * reservations are read, once, and only if it matters.
 */
export function unconfirmedCheckOf(
  deps: Pick<AdmitUploadDeps, 'ledger' | 'clock'>,
  batch: { attempt: BatchAttempt; missing: ReadonlyMap<string, number>; madeBy: string | undefined },
): UnconfirmedCheck {
  const { attempt, missing, madeBy } = batch;
  let unclaimed: ReadonlyMap<string, number> | undefined;
  return async (tenant) => {
    const nowMs = deps.clock.nowMs();
    const crowdUntilMs = tenant.unconfirmed?.crowd?.get(madeBy ?? '') ?? 0;
    // Another entry of the same object is one more to hold.
    if (missing.size > 0 && nowMs <= crowdUntilMs) return { kind: 'waits', untilMs: crowdUntilMs };
    const limits = limitsOf(tenant, { repo: attempt.reservation.repo, nowMs });
    const verdictOn = (entries: ReadonlyMap<string, number>) =>
      checkUnconfirmed(limits, { madeBy, bytes: sumEntries(entries), nowMs });
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
    for (const { id, state, entries } of page) {
      if (id === reservation.id || state !== 'issued') continue;
      for (const [oid, sizeBytes] of entries)
        if ((unclaimed.get(oid) ?? Number.POSITIVE_INFINITY) <= sizeBytes) unclaimed.delete(oid);
    }
  return unclaimed;
}

/**
 * Whether somebody has to wait before they claim so much that nobody has claimed yet. They've claimed more than a
 * tenth of a limit that never arrived. If what is live now, and what they ask for, became late as well, there would be
 * more of it than the limit, and it would take up everybody's room for a day.
 */
export function checkUnconfirmed(
  limits: readonly LimitState[],
  asked: { madeBy: string | undefined; bytes: number; nowMs: number },
): UnconfirmedVerdict {
  const { madeBy = '', bytes, nowMs } = asked;
  const untilMs: number[] = [];
  let beforeMax: BeforeMax = {};
  for (const { repo, unconfirmed, limitBytes, committedBytes = 0, scannedBytes } of limits) {
    const heldUntilMs = unconfirmed?.makers.get(madeBy) ?? 0;
    if (!unconfirmed || nowMs > heldUntilMs) continue;
    // What the counter holds of neither what is live nor what they ask for.
    const otherBytes = scannedBytes + Math.max(0, unconfirmed.bytes - limitBytes);
    const liveBytes = Math.max(0, committedBytes - otherBytes);
    const liveMaxBytes = limitBytes - unconfirmed.bytes - bytes;
    if (liveBytes > liveMaxBytes) untilMs.push(heldUntilMs);
    const mostBytes = otherBytes + liveMaxBytes;
    beforeMax = { ...beforeMax, ...(repo === null ? { tenantBytes: mostBytes } : { repoBytes: mostBytes }) };
  }
  return untilMs.length === 0
    ? { kind: 'free', beforeMax }
    : { kind: 'waits', untilMs: Math.max(...untilMs) };
}

/**
 * Adds to the counter if that stays within the limit as it was read.
 *
 * @param input.chosen what is to be admitted. Without any bytes there is nothing to add.
 * @param input.notYetAdded the part of it that the counter does not hold yet. Even when the counter holds all of
 * it, the counter must be within the limit: it may hold the bytes for other batches, which are not admitted yet.
 */
export async function addWithinLimit(
  deps: Pick<AdmitUploadDeps, 'ledger'>,
  input: {
    tenant: TenantRecord;
    repo: string;
    chosen: ReadonlyMap<string, number>;
    notYetAdded: ReadonlyMap<string, number>;
    beforeMax?: BeforeMax;
  },
): Promise<AddOutcome> {
  const { tenant, repo, chosen, notYetAdded, beforeMax = {} } = input;
  if (chosen.size === 0) return { kind: 'added' };
  const limit = tenant.repoLimits.get(repo);
  return deps.ledger.addCommitted({
    tenant: tenant.tenant,
    sumBytes: sumEntries(notYetAdded),
    limitBytes: sumEntries(chosen) === 0 ? 'any' : tenant.limitBytes,
    repo: { name: repo, limitBytes: limit?.limitBytes ?? null },
    beforeMax,
    entryCount: 1 + chosen.size,
    entriesMax: entriesMaxOf(tenant),
    // Somebody who must wait for what is late would else race the reconcile that finds it.
    unconfirmedMax: {
      tenantBytes: tenant.unconfirmed?.bytes ?? 0,
      repoBytes: limit?.scanned?.unconfirmed?.bytes ?? 0,
    },
  });
}
