import { sumClaims } from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { CountOutcome } from '../../ports/ledger.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { awaitOtherReconcile } from '../recounts/await-reconcile.ts';
import { type Found, reconcile } from '../recounts/reconcile.ts';
import { putOffMs } from '../recounts/recount-delay.ts';
import type { AdmitUploadDeps } from './admit-upload.ts';
import { chooseByFloor, notYetCounted, type Question, type Refused } from './choose-by-floor.ts';

/** LIST requests of which an inline reconcile is expected to be done in time, in rounds of full concurrency. */
const inlineRoundsMax = 5;
const keysPerPage = 1000;
/** Recounts, another's and our own, that one batch waits for at the most. */
const recountsMax = 3;
/** Kept back from the batch function's time limit, to answer in. */
const answerReserveMs = 5000;

export type LimitDecision =
  /** Counted: these may be issued; the others are proven not to fit. */
  | {
      readonly kind: 'admit';
      readonly chosen: ReadonlyMap<string, number>;
      readonly refused: Refused | undefined;
    }
  /** Proven: nothing of it fits. */
  | { readonly kind: 'full'; readonly refused: Refused }
  /** A recount can't tell before so long; 0: it may at any time. */
  | { readonly kind: 'unsure'; readonly waitMs: number }
  | { readonly kind: 'absent' };

/**
 * Counts against the limit as it was read.
 *
 * @param input.chosen what is to be admitted; where it has no bytes at all, there is nothing to count.
 * @param input.uncounted those of it that the counter does not hold yet. Where it holds all of them, the
 * counter must be within the limit all the same: it may hold them for others, who are not admitted yet.
 */
export async function countWithin(
  deps: Pick<AdmitUploadDeps, 'ledger'>,
  input: {
    tenant: TenantRecord;
    chosen: ReadonlyMap<string, number>;
    uncounted: ReadonlyMap<string, number>;
  },
): Promise<CountOutcome> {
  if (sumClaims(input.chosen) === 0) return { kind: 'counted' };
  const { tenant, limitBytes } = input.tenant;
  return deps.ledger.count({ tenant, sumBytes: sumClaims(input.uncounted), limitBytes });
}

/**
 * The counter refused. It may be too high, so it alone proves nothing:
 *
 * - what does not fit above the floor is refused, without a scan;
 * - what fits above the floor and below the counter is admitted;
 * - in between, a reconcile finds out; where that can't be done now, the client is asked to come again.
 */
export async function decideAtLimit(
  deps: AdmitUploadDeps,
  question: Question & { refusedBy: TenantRecord },
): Promise<LimitDecision> {
  const { refusedBy: tenant } = question;
  if (tenant.closedAtMs !== null) return { kind: 'absent' };
  const byFloor = await chooseByFloor(deps, { ...question, tenant, found: undefined });
  if (byFloor.kind !== 'fits') return byFloor;
  const { chosen } = byFloor;
  const counted = await countIfItCanFit(deps, { tenant, chosen, uncounted: chosen });
  if (counted) return { kind: 'admit', chosen, refused: byFloor.refused };
  return decideByReconcile(deps, { ...question, tenant });
}

async function decideByReconcile(
  deps: AdmitUploadDeps,
  question: Question & { tenant: TenantRecord },
): Promise<LimitDecision> {
  const { repo } = question.attempt.reservation;
  let { tenant } = question;
  for (let round = 0; round < recountsMax; round += 1) {
    const recounted = await reconcileInline(deps, { ...question, tenant });
    if (recounted.kind === 'unsure') return recounted;
    const { found } = recounted;
    tenant = recounted.tenant;
    const byFloor = await chooseByFloor(deps, { ...question, tenant, found });
    if (byFloor.kind !== 'fits') return byFloor;
    const { chosen } = byFloor;
    const uncounted = notYetCounted(chosen, { repo, found });
    const counted = await countIfItCanFit(deps, { tenant, chosen, uncounted });
    if (counted) return { kind: 'admit', chosen, refused: byFloor.refused };
    // Another's recount says less than our own: only ours tells which of these claims the counter holds.
    if (found) break;
  }
  return { kind: 'unsure', waitMs: 0 };
}

/** Counts, unless what was just read tells that it can't fit: a refused condition is billed as a write. */
async function countIfItCanFit(
  deps: AdmitUploadDeps,
  input: Parameters<typeof countWithin>[1],
): Promise<boolean> {
  const { tenant } = input;
  const wouldBeBytes = tenant.committedBytes + sumClaims(input.uncounted);
  const isHopeless =
    tenant.limitBytes !== null && (tenant.counted === null || wouldBeBytes > tenant.limitBytes);
  if (isHopeless && sumClaims(input.chosen) > 0) return false;
  return (await countWithin(deps, input)).kind === 'counted';
}

type InlineRecount =
  | { readonly kind: 'recounted'; readonly tenant: TenantRecord; readonly found: Found | undefined }
  | { readonly kind: 'unsure'; readonly waitMs: number };

/**
 * Recounts now, or waits for the recount that is running.
 *
 * @returns the tenant after it, and what it found where it was our own; `unsure` where it can't be known now.
 */
async function reconcileInline(
  deps: AdmitUploadDeps,
  question: Question & { tenant: TenantRecord },
): Promise<InlineRecount> {
  const { clock, settings } = deps;
  const { attempt, wanted, tenant } = question;
  const waitMs = putOffMs(deps, { tenant, urgency: 'decision' });
  const unsure = { kind: 'unsure', waitMs } as const;
  // A recount that is running is waited for all the same: it is paid for.
  if (waitMs > 0 && tenant.leaseUntilMs <= clock.nowMs()) return unsure;
  const expectedPages = Math.ceil((tenant.counted?.objectCount ?? 0) / keysPerPage);
  if (expectedPages > inlineRoundsMax * settings.scanConcurrency) return unsure;
  const deadlineMs = Math.min(
    clock.nowMs() + settings.inlineReconcileBudgetMs,
    attempt.beganMs + settings.batchTimeLimitMs - answerReserveMs,
  );
  try {
    const outcome =
      waitMs > 0
        ? ({ kind: 'busy' } as const)
        : await reconcile(deps, {
            tenant: attempt.tenant,
            full: false,
            someoneWaits: true,
            deadlineMs,
            without: {
              reservationId: attempt.reservation.id,
              repo: attempt.reservation.repo,
              oids: new Set(wanted.keys()),
            },
          });
    if (outcome.kind === 'committed') return { ...outcome, kind: 'recounted' };
    if (outcome.kind !== 'busy') return unsure;
    const recounted = await awaitOtherReconcile(deps, { before: tenant, deadlineMs });
    return recounted ? { kind: 'recounted', tenant: recounted, found: undefined } : unsure;
  } catch (error) {
    // Without a listing nothing is proven; the client comes again, and the cached counts stay as they are.
    if (error instanceof StoreUnavailableError) return unsure;
    throw error;
  }
}
