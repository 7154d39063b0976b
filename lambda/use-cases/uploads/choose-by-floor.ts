import { chooseWithinLimits } from '../../domain/admission.ts';
import { isDead } from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { ReconcileBasis } from '../recounts/reconcile.ts';
import type { AdmitUploadDeps, BatchAttempt } from './batch-attempt.ts';
import type { LateCheck } from './late-claims.ts';
import { limitsOf } from './limit-state.ts';
import { type Refusal, refusalOf } from './refusal.ts';

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
  readonly lateCheck: LateCheck;
}

export type FloorChoice =
  | {
      kind: 'fits';
      chosen: ReadonlyMap<string, number>;
      /** The part of it that the counter does not hold yet. */
      notYetAdded: ReadonlyMap<string, number>;
      refusal: Refusal | undefined;
    }
  | { kind: 'full'; refusal: Refusal };

/**
 * Chooses what fits above the floor, which is what the tenant takes up at least, and above that of the repo if it has a
 * limit. What does not fit there is proven to be over the limit.
 *
 * @param input.basis of our own reconcile, if one was made. Otherwise the repo's live reservations are read here.
 */
export async function chooseByFloor(
  deps: AdmitUploadDeps,
  input: Pick<LimitQuestion, 'attempt' | 'missing' | 'tenant'> & { basis: ReconcileBasis | undefined },
): Promise<FloorChoice> {
  const { attempt, missing, tenant, basis } = input;
  const nowMs = deps.clock.nowMs();
  const { reservation } = attempt;
  const limits = limitsOf(tenant, { repo: reservation.repo, nowMs });
  // Without a floor, nothing is proven to be taken up. Then only what exceeds the limit by itself is refused.
  const bounds = limits.map(({ limitBytes, provenBytes = 0 }) => ({ limitBytes, baseBytes: provenBytes }));
  const refuse = (refused: ReadonlyMap<string, number>, grantedBytes: number) =>
    refusalOf({ reservation, tenant, limits, refused, grantedBytes });
  if (bounds.some(({ baseBytes, limitBytes }) => baseBytes > limitBytes))
    return { kind: 'full', refusal: refuse(missing, 0) };

  const held = basis ? heldBy(basis) : await heldByOthers(deps, { attempt, missing, nowMs });
  const choice = chooseWithinLimits({ claims: missing, bounds, isFree: held.isInFloor });
  if (choice.chosen.size === 0) return { kind: 'full', refusal: refuse(choice.refused, choice.addedBytes) };
  const refusal = choice.refused.size > 0 ? refuse(choice.refused, choice.addedBytes) : undefined;
  const notYetAdded = new Map([...choice.chosen].filter(([oid, sizeBytes]) => !held.isAdded(oid, sizeBytes)));
  return { kind: 'fits', chosen: choice.chosen, notYetAdded, refusal };
}

/** Which claims of a batch the tenant's numbers hold already. */
interface HeldClaims {
  /** Whether the floor has the object's bytes. */
  isInFloor(oid: string): boolean;
  /** Whether the counter has a claim of this size. */
  isAdded(oid: string, sizeBytes: number): boolean;
}

/** By our own reconcile, which put what it found into the counter: the largest size that was claimed for each object. */
function heldBy({ promised, seen }: ReconcileBasis): HeldClaims {
  return {
    isInFloor: (oid) => seen.has(oid) || promised.get(oid)?.isIssued === true,
    isAdded: (oid, sizeBytes) => seen.has(oid) || (promised.get(oid)?.largestBytes ?? -1) >= sizeBytes,
  };
}

/**
 * By the repo's other live reservations that are issued: their claims were added to the counter before, and every
 * reconcile keeps them there while they live. A reconcile whose clock is ahead may take one for dead a little earlier,
 * so one that is about to die is not relied on.
 */
async function heldByOthers(
  { ledger, settings }: Pick<AdmitUploadDeps, 'ledger' | 'settings'>,
  input: Pick<LimitQuestion, 'attempt' | 'missing'> & { nowMs: number },
): Promise<HeldClaims> {
  const { attempt, missing, nowMs } = input;
  const { repo, id } = attempt.reservation;
  const issued = new Set<string>();
  const largestBytes = new Map<string, number>();
  for await (const page of ledger.reservationsOf({ tenant: attempt.tenant, repo, ofUploads: true })) {
    for (const reservation of page) {
      if (reservation.id === id || reservation.state !== 'issued' || isDead(reservation, nowMs)) continue;
      const isReliable = !isDead(reservation, nowMs + 2 * settings.clockSkewMs);
      for (const oid of missing.keys()) {
        const sizeBytes = reservation.claims.get(oid);
        if (sizeBytes === undefined) continue;
        issued.add(oid);
        if (isReliable) largestBytes.set(oid, Math.max(sizeBytes, largestBytes.get(oid) ?? 0));
      }
    }
  }
  return {
    isInFloor: (oid) => issued.has(oid),
    isAdded: (oid, sizeBytes) => (largestBytes.get(oid) ?? -1) >= sizeBytes,
  };
}
