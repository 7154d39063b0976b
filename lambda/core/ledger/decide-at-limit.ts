import { findStored } from '../scan/find-stored.ts';
import { addWithinLimit, type UnconfirmedCheck } from './add-within-limit.ts';
import type { ReconcileBasis } from './reconcile.ts';
import { type ReconcileNowOutcome, reconcileNow } from './reconcile-now.ts';
import { fitsBeside, limitsOf, type Refusal, refusalOf } from './rules/limits.ts';
import { chooseWithinLimits, isLapsed, sumEntries } from './rules/reservation.ts';
import type { TenantRecord } from './rules/tenant.ts';
import type { AdmitUploadDeps, BatchAttempt } from './upload-batch.ts';

/** A batch that the counter refused, and what is known about its tenant. */
export interface LimitQuestion {
  readonly attempt: BatchAttempt;
  /** oid → bytes of the objects that the store does not have. */
  readonly missing: ReadonlyMap<string, number>;
  /** As read last. */
  readonly tenant: TenantRecord;
  /** As read before the store was asked what it has. */
  readonly before: TenantRecord;
  /** How many objects the repo had when it was last counted. undefined: it never was. */
  readonly repoObjects: number | undefined;
  /** Nobody waits for a reconcile. */
  readonly isOptional?: boolean | undefined;
  readonly unconfirmedCheck: UnconfirmedCheck;
}

type ConfirmedChoice =
  | {
      kind: 'fits';
      chosen: ReadonlyMap<string, number>;
      /** The part of it that the counter does not hold yet. */
      notYetAdded: ReadonlyMap<string, number>;
      refusal: Refusal | undefined;
    }
  | { kind: 'full'; refusal: Refusal };

/**
 * Chooses what fits above the confirmed usage, which is what the tenant takes up at least, and above that of the repo if it has a
 * limit. What does not fit there is proven to be over the limit.
 *
 * @param input.basis of our own reconcile, if one was made. Otherwise the repo's live reservations are read here.
 */
export async function chooseByConfirmed(
  deps: AdmitUploadDeps,
  input: Pick<LimitQuestion, 'attempt' | 'missing' | 'tenant'> & { basis: ReconcileBasis | undefined },
): Promise<ConfirmedChoice> {
  const { attempt, missing, tenant, basis } = input;
  const nowMs = deps.clock.nowMs();
  const { reservation } = attempt;
  const limits = limitsOf(tenant, { repo: reservation.repo, nowMs });
  // Without a confirmed usage, nothing is proven to be taken up. Then only what exceeds the limit by itself is refused.
  const bounds = limits.map(({ limitBytes, provenBytes = 0 }) => ({ limitBytes, baseBytes: provenBytes }));
  const refuse = (refused: ReadonlyMap<string, number>, grantedBytes: number) =>
    refusalOf({ reservation, tenant, limits, refused, grantedBytes });
  if (bounds.some(({ baseBytes, limitBytes }) => baseBytes > limitBytes))
    return { kind: 'full', refusal: refuse(missing, 0) };

  const held = basis ? heldBy(basis) : await heldByOthers(deps, { attempt, missing, nowMs });
  const choice = chooseWithinLimits({ entries: missing, bounds, isFree: held.isConfirmed });
  if (choice.chosen.size === 0) return { kind: 'full', refusal: refuse(choice.refused, choice.addedBytes) };
  const refusal = choice.refused.size > 0 ? refuse(choice.refused, choice.addedBytes) : undefined;
  const notYetAdded = new Map([...choice.chosen].filter(([oid, sizeBytes]) => !held.isAdded(oid, sizeBytes)));
  return { kind: 'fits', chosen: choice.chosen, notYetAdded, refusal };
}

/** Which entries of a batch the tenant's numbers hold already. */
interface HeldEntries {
  /** Whether the confirmed usage has the object's bytes. */
  isConfirmed(oid: string): boolean;
  /** Whether the counter has an entry of this size. */
  isAdded(oid: string, sizeBytes: number): boolean;
}

/** By our own reconcile, which put what it found into the counter: the largest size that was claimed for each object. */
function heldBy({ promised, seen }: ReconcileBasis): HeldEntries {
  return {
    isConfirmed: (oid) => seen.has(oid) || promised.get(oid)?.isIssued === true,
    isAdded: (oid, sizeBytes) => seen.has(oid) || (promised.get(oid)?.largestBytes ?? -1) >= sizeBytes,
  };
}

/**
 * By the repo's other live reservations that are issued: their entries were added to the counter before, and every
 * reconcile keeps them there while they live. A reconcile whose clock is ahead may take one for lapsed a little earlier,
 * so one that is about to die is not relied on. Nor is one of chunks: it can be canceled at any time, after a reconcile has read
 * the place of the own reservation, and before it reads that one.
 */
async function heldByOthers(
  { ledger, settings }: Pick<AdmitUploadDeps, 'ledger' | 'settings'>,
  input: Pick<LimitQuestion, 'attempt' | 'missing'> & { nowMs: number },
): Promise<HeldEntries> {
  const { attempt, missing, nowMs } = input;
  const { repo, id } = attempt.reservation;
  const issued = new Set<string>();
  const largestBytes = new Map<string, number>();
  for await (const page of ledger.reservationsOf({ tenant: attempt.tenant, repo, ofUploads: true })) {
    for (const reservation of page) {
      if (reservation.id === id || reservation.state !== 'issued' || isLapsed(reservation, nowMs)) continue;
      const isReliable = !isLapsed(reservation, nowMs + 2 * settings.clockSkewMs);
      for (const oid of missing.keys()) {
        const sizeBytes = reservation.entries.get(oid);
        if (sizeBytes === undefined) continue;
        issued.add(oid);
        if (isReliable && !reservation.chunked?.has(oid))
          largestBytes.set(oid, Math.max(sizeBytes, largestBytes.get(oid) ?? 0));
      }
    }
  }
  return {
    isConfirmed: (oid) => issued.has(oid),
    isAdded: (oid, sizeBytes) => (largestBytes.get(oid) ?? -1) >= sizeBytes,
  };
}

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
  | { readonly kind: 'unknown'; readonly waitMs: number; readonly unconfirmedUntilMs?: number }
  | { readonly kind: 'absent' };

/**
 * The counter refused. It may be too high, so on its own it proves nothing:
 *
 * - what does not fit above the confirmed usage is refused, without a scan;
 * - what fits above the confirmed usage and below the counter is admitted;
 * - in between, a reconcile finds out. When none can be made now, the client is told to try again.
 */
export async function decideAtLimit(deps: AdmitUploadDeps, question: LimitQuestion): Promise<LimitDecision> {
  const { tenant } = question;
  if (tenant.closedAtMs !== null) return { kind: 'absent' };
  const byConfirmed = await choose(deps, question, undefined);
  if (byConfirmed.kind !== 'fits') return byConfirmed;
  const { chosen, notYetAdded, refusal } = byConfirmed;
  const { repo } = question.attempt.reservation;
  if (await addIfItFits(deps, question, { tenant, repo, chosen, notYetAdded }))
    return { kind: 'admit', chosen, refusal };
  return question.isOptional ? { kind: 'unknown', waitMs: 0 } : decideByReconcile(deps, question);
}

async function decideByReconcile(deps: AdmitUploadDeps, question: LimitQuestion): Promise<LimitDecision> {
  const { repo } = question.attempt.reservation;
  let { tenant } = question;
  for (let round = 0; round < reconcilesMax; round += 1) {
    const outcome = await reconcileInline(deps, { ...question, tenant });
    if (outcome.kind === 'unknown') return outcome;
    const basis = outcome.kind === 'committed' ? outcome.basis : undefined;
    tenant = outcome.tenant;
    const byConfirmed = await choose(deps, { ...question, tenant }, basis);
    if (byConfirmed.kind === 'full' && basis) return { ...byConfirmed, ownEpoch: tenant.appliedEpoch };
    if (byConfirmed.kind !== 'fits') return byConfirmed;
    const { chosen, notYetAdded, refusal } = byConfirmed;
    if (await addIfItFits(deps, question, { tenant, repo, chosen, notYetAdded }))
      return { kind: 'admit', chosen, refusal };
    // After another's reconcile, only its confirmed usage is known: we try once more.
    if (basis) break;
  }
  return { kind: 'unknown', waitMs: 0 };
}

/**
 * Chooses by the confirmed usage. An object may have come after this batch asked for it, around the API for example. One that was
 * committed since then may hold it already, and a refusal would count its bytes twice. So what is about to be refused is
 * asked for once more, and if some of it is there, the client is to ask again. What was taken for new without asking needs
 * no more care: then everything fitted beside the counter, and a confirmed usage of before is not above the counter.
 */
async function choose(
  deps: AdmitUploadDeps,
  question: LimitQuestion,
  basis: ReconcileBasis | undefined,
): Promise<ConfirmedChoice | { kind: 'unknown'; waitMs: number }> {
  const byConfirmed = await chooseByConfirmed(deps, { ...question, basis });
  const { attempt, before, tenant, repoObjects } = question;
  if (basis || !byConfirmed.refusal || tenant.appliedEpoch === before.appliedEpoch) return byConfirmed;
  const place = { tenant: attempt.tenant, repo: attempt.reservation.repo };
  const arrived = await findStored(deps, { ...place, repoObjects, oids: byConfirmed.refusal.oids });
  return arrived.size > 0 ? { kind: 'unknown', waitMs: 0 } : byConfirmed;
}

/** Sends nothing if the tenant as read rules it out: a refused condition is billed as a write. */
async function addIfItFits(
  deps: AdmitUploadDeps,
  { unconfirmedCheck }: LimitQuestion,
  input: Omit<Parameters<typeof addWithinLimit>[1], 'beforeMax'>,
): Promise<boolean> {
  const unconfirmed = await unconfirmedCheck(input.tenant);
  if (unconfirmed.kind === 'waits') return false;
  const limits = limitsOf(input.tenant, { repo: input.repo, nowMs: deps.clock.nowMs() });
  if (!fitsBeside(limits, sumEntries(input.notYetAdded)) && sumEntries(input.chosen) > 0) return false;
  return (await addWithinLimit(deps, { ...input, beforeMax: unconfirmed.beforeMax })).kind === 'added';
}

/** Reconciles without this batch's own reservation, in the time that the batch has left. */
function reconcileInline(deps: AdmitUploadDeps, question: LimitQuestion): Promise<ReconcileNowOutcome> {
  const { clock, settings } = deps;
  const { attempt, missing, tenant } = question;
  return reconcileNow(deps, {
    before: tenant,
    full: false,
    deadlineMs: Math.min(
      clock.nowMs() + settings.inlineReconcileBudgetMs,
      attempt.beganMs + settings.batchTimeLimitMs - answerReserveMs,
    ),
    exclude: {
      reservationId: attempt.reservation.id,
      repo: attempt.reservation.repo,
      oids: new Set(missing.keys()),
    },
  });
}
