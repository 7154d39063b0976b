import type { AddOutcome } from '../../adapters/dynamodb/tenants.ts';
import { sumClaims } from '../../domain/reservation.ts';
import { claimsMaxOf, type TenantRecord } from '../../domain/tenant.ts';
import { findStored } from '../../scan/find-stored.ts';
import type { ReconcileBasis } from '../recounts/reconcile.ts';
import { type RecountNowOutcome, recountNow } from '../recounts/recount-now.ts';
import type { AdmitUploadDeps } from './batch-attempt.ts';
import { chooseByFloor, type FloorChoice, type LimitQuestion } from './choose-by-floor.ts';
import type { BeforeMax } from './late-claims.ts';
import { fitsBeside, limitsOf } from './limit-state.ts';
import type { Refusal } from './refusal.ts';

/** A batch reconciles inline only when this many rounds of full concurrency can list the tenant. */
const inlineRoundsMax = 5;
/** Reconciles, our own and others', that one batch waits for. */
const reconcilesMax = 3;
/** Kept back from the batch function's time limit, to answer in. */
const answerReserveMs = 5000;

export type LimitDecision =
  /** Added to the counter: `chosen` may be issued. The others are proven not to fit. */
  | {
      readonly kind: 'admit';
      readonly chosen: ReadonlyMap<string, number>;
      readonly refusal: Refusal | undefined;
    }
  /** Proven: none of it fits. `ownEpoch` is of our own reconcile, which left our reservation out, as its commit does. */
  | { readonly kind: 'full'; readonly refusal: Refusal; readonly ownEpoch?: number }
  /** Unknown until a reconcile, which may begin in `waitMs` (0: now). */
  | { readonly kind: 'unknown'; readonly waitMs: number; readonly lateUntilMs?: number }
  | { readonly kind: 'absent' };

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
    sumBytes: sumClaims(notYetAdded),
    limitBytes: sumClaims(chosen) === 0 ? 'any' : tenant.limitBytes,
    repo: { name: repo, limitBytes: limit?.limitBytes ?? null },
    beforeMax,
    claimCount: 1 + chosen.size,
    claimsMax: claimsMaxOf(tenant),
    // Somebody who must wait for what is late would else race the reconcile that finds it.
    lateMax: { tenantBytes: tenant.late?.bytes ?? 0, repoBytes: limit?.counted?.late?.bytes ?? 0 },
  });
}

/**
 * The counter refused. It may be too high, so on its own it proves nothing:
 *
 * - what does not fit above the floor is refused, without a scan;
 * - what fits above the floor and below the counter is admitted;
 * - in between, a reconcile finds out. When none can be made now, the client is told to try again.
 */
export async function decideAtLimit(deps: AdmitUploadDeps, question: LimitQuestion): Promise<LimitDecision> {
  const { tenant } = question;
  if (tenant.closedAtMs !== null) return { kind: 'absent' };
  const byFloor = await choose(deps, question, undefined);
  if (byFloor.kind !== 'fits') return byFloor;
  const { chosen, notYetAdded, refusal } = byFloor;
  const { repo } = question.attempt.reservation;
  if (await addIfItFits(deps, question, { tenant, repo, chosen, notYetAdded }))
    return { kind: 'admit', chosen, refusal };
  return decideByReconcile(deps, question);
}

async function decideByReconcile(deps: AdmitUploadDeps, question: LimitQuestion): Promise<LimitDecision> {
  const { repo } = question.attempt.reservation;
  let { tenant } = question;
  for (let round = 0; round < reconcilesMax; round += 1) {
    const outcome = await recountInline(deps, { ...question, tenant });
    if (outcome.kind === 'unknown') return outcome;
    const basis = outcome.kind === 'committed' ? outcome.basis : undefined;
    tenant = outcome.tenant;
    const byFloor = await choose(deps, { ...question, tenant }, basis);
    if (byFloor.kind === 'full' && basis) return { ...byFloor, ownEpoch: tenant.appliedEpoch };
    if (byFloor.kind !== 'fits') return byFloor;
    const { chosen, notYetAdded, refusal } = byFloor;
    if (await addIfItFits(deps, question, { tenant, repo, chosen, notYetAdded }))
      return { kind: 'admit', chosen, refusal };
    // After another's reconcile, only its floor is known: we try once more.
    if (basis) break;
  }
  return { kind: 'unknown', waitMs: 0 };
}

/**
 * Chooses by the floor. An object may have come after this batch asked for it, around the API for example. A floor that was
 * committed since then may hold it already, and a refusal would count its bytes twice. So what is about to be refused is
 * asked for once more, and if some of it is there, the client is to ask again. What was taken for new without asking needs
 * no more care: then everything fitted beside the counter, and a floor of before is not above the counter.
 */
async function choose(
  deps: AdmitUploadDeps,
  question: LimitQuestion,
  basis: ReconcileBasis | undefined,
): Promise<FloorChoice | { kind: 'unknown'; waitMs: number }> {
  const byFloor = await chooseByFloor(deps, { ...question, basis });
  const { attempt, before, tenant, repoObjects } = question;
  if (basis || !byFloor.refusal || tenant.appliedEpoch === before.appliedEpoch) return byFloor;
  const place = { tenant: attempt.tenant, repo: attempt.reservation.repo };
  const arrived = await findStored(deps, { ...place, repoObjects, oids: byFloor.refusal.oids });
  return arrived.size > 0 ? { kind: 'unknown', waitMs: 0 } : byFloor;
}

/** Sends nothing if the tenant as read rules it out: a refused condition is billed as a write. */
async function addIfItFits(
  deps: AdmitUploadDeps,
  { lateCheck }: LimitQuestion,
  input: Omit<Parameters<typeof addWithinLimit>[1], 'beforeMax'>,
): Promise<boolean> {
  const late = await lateCheck(input.tenant);
  if (late.kind === 'waits') return false;
  const limits = limitsOf(input.tenant, { repo: input.repo, nowMs: deps.clock.nowMs() });
  if (!fitsBeside(limits, sumClaims(input.notYetAdded)) && sumClaims(input.chosen) > 0) return false;
  return (await addWithinLimit(deps, { ...input, beforeMax: late.beforeMax })).kind === 'added';
}

/** Recounts without this batch's own reservation, in the time that the batch has left. */
function recountInline(deps: AdmitUploadDeps, question: LimitQuestion): Promise<RecountNowOutcome> {
  const { clock, settings } = deps;
  const { attempt, missing, tenant } = question;
  return recountNow(deps, {
    before: tenant,
    full: false,
    deadlineMs: Math.min(
      clock.nowMs() + settings.inlineReconcileBudgetMs,
      attempt.beganMs + settings.batchTimeLimitMs - answerReserveMs,
    ),
    requestsMax: inlineRoundsMax * settings.scanConcurrency,
    exclude: {
      reservationId: attempt.reservation.id,
      repo: attempt.reservation.repo,
      oids: new Set(missing.keys()),
    },
  });
}
