import { chooseWithinLimit, claimKey } from '../../domain/admission.ts';
import { isDead, type Reservation } from '../../domain/reservation.ts';
import { floorBytes, type TenantRecord } from '../../domain/tenant.ts';
import type { ReconcileBasis } from '../recounts/reconcile.ts';
import type { AdmitUploadDeps, BatchAttempt } from './batch-attempt.ts';

/** Objects that are refused, and the numbers for the message. */
export interface Refusal {
  readonly oids: readonly string[];
  /** The least that is taken up, including what this request got. */
  readonly usedBytes: number;
  readonly limitBytes: number;
}

/** A batch that the counter refused, and what is known about its tenant. */
export interface LimitQuestion {
  readonly attempt: BatchAttempt;
  /** oid → bytes of the objects that the store does not have. */
  readonly missing: ReadonlyMap<string, number>;
  /** As read last. */
  readonly tenant: TenantRecord;
}

export type FloorChoice =
  | { kind: 'fits'; chosen: ReadonlyMap<string, number>; refusal: Refusal | undefined }
  | { kind: 'full'; refusal: Refusal };

/**
 * Chooses what fits above the floor, which is what the tenant takes up at least. What does not fit there is proven
 * to be over the limit.
 *
 * @param input.basis of our own reconcile, if one was made. Otherwise the live reservations are read here.
 */
export async function chooseByFloor(
  deps: AdmitUploadDeps,
  input: LimitQuestion & { basis: ReconcileBasis | undefined },
): Promise<FloorChoice> {
  const { attempt, missing, tenant, basis } = input;
  const nowMs = deps.clock.nowMs();
  // Without a floor, nothing is proven to be taken up. Then only what exceeds the limit by itself is refused.
  const baseBytes = floorBytes(tenant, nowMs) ?? 0;
  const limitBytes = tenant.limitBytes ?? Number.MAX_SAFE_INTEGER;
  const refusalOf = (oids: Iterable<string>, usedBytes: number) => ({
    oids: [...oids],
    usedBytes,
    limitBytes,
  });
  if (baseBytes > limitBytes) return { kind: 'full', refusal: refusalOf(missing.keys(), baseBytes) };

  const { repo, id } = attempt.reservation;
  const live = basis ? basis.live : await liveReservations(deps, { tenant: attempt.tenant, nowMs });
  const issuedOids = new Set<string>();
  for (const reservation of live) {
    if (reservation.id === id || reservation.repo !== repo || reservation.state !== 'issued') continue;
    for (const oid of reservation.claims.keys()) issuedOids.add(oid);
  }
  const seen = basis?.scans.get(repo)?.seen;
  const choice = chooseWithinLimit({
    claims: missing,
    baseBytes,
    limitBytes,
    isFree: (oid) => issuedOids.has(oid) || (seen?.has(oid) ?? false),
  });
  if (choice.chosen.size === 0)
    return { kind: 'full', refusal: refusalOf(choice.refused.keys(), choice.usedBytes) };
  const refusal = choice.refused.size > 0 ? refusalOf(choice.refused.keys(), choice.usedBytes) : undefined;
  return { kind: 'fits', chosen: choice.chosen, refusal };
}

async function liveReservations(
  deps: AdmitUploadDeps,
  input: { tenant: string; nowMs: number },
): Promise<Reservation[]> {
  const live: Reservation[] = [];
  for await (const page of deps.ledger.reservations(input.tenant)) {
    live.push(...page.filter((reservation) => !isDead(reservation, input.nowMs)));
  }
  return live;
}

/**
 * The chosen claims that the counter does not hold yet.
 *
 * @param input.basis of our own reconcile, which put what it found into the counter. Without it nothing is known,
 * so every claim is taken as not yet added.
 */
export function claimsNotYetAdded(
  chosen: ReadonlyMap<string, number>,
  input: { repo: string; basis: ReconcileBasis | undefined },
): ReadonlyMap<string, number> {
  const { repo, basis } = input;
  if (!basis) return chosen;
  // The counter holds the largest size that was claimed for an object.
  const largestBytes = new Map<string, number>();
  for (const reservation of basis.live) {
    for (const [oid, sizeBytes] of reservation.claims) {
      const object = claimKey({ repo: reservation.repo, oid });
      largestBytes.set(object, Math.max(sizeBytes, largestBytes.get(object) ?? 0));
    }
  }
  const seen = basis.scans.get(repo)?.seen;
  const isAdded = (oid: string, sizeBytes: number) =>
    seen?.has(oid) || (largestBytes.get(claimKey({ repo, oid })) ?? -1) >= sizeBytes;
  return new Map([...chosen].filter(([oid, sizeBytes]) => !isAdded(oid, sizeBytes)));
}
