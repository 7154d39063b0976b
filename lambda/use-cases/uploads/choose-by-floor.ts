import { chooseWithinLimit } from '../../domain/admission.ts';
import { isDead } from '../../domain/reservation.ts';
import { floorBytes, type TenantRecord } from '../../domain/tenant.ts';
import type { ReconcileBasis } from '../recounts/reconcile.ts';
import type { AdmitUploadDeps, BatchAttempt } from './batch-attempt.ts';
import { type Refusal, refusalOf } from './refusal.ts';

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
 * @param input.basis of our own reconcile, if one was made. Otherwise the repo's live reservations are read here.
 */
export async function chooseByFloor(
  deps: AdmitUploadDeps,
  input: LimitQuestion & { basis: ReconcileBasis | undefined },
): Promise<FloorChoice> {
  const { attempt, missing, tenant, basis } = input;
  const nowMs = deps.clock.nowMs();
  // Without a floor, nothing is proven to be taken up. Then only what exceeds the limit by itself is refused.
  const provenBytes = floorBytes(tenant, nowMs);
  const baseBytes = provenBytes ?? 0;
  const limitBytes = tenant.limitBytes ?? Number.MAX_SAFE_INTEGER;
  const refuse = (refused: ReadonlyMap<string, number>, usedBytes: number) => {
    const grantedBytes = usedBytes - baseBytes;
    const isProven = provenBytes !== undefined;
    const { reservation } = attempt;
    return refusalOf({ reservation, tenant, limitBytes, refused, usedBytes, grantedBytes, isProven });
  };
  if (baseBytes > limitBytes) return { kind: 'full', refusal: refuse(missing, baseBytes) };

  const counted = basis ? countedIn(basis) : await issuedOids(deps, { attempt, missing, nowMs });
  const choice = chooseWithinLimit({
    claims: missing,
    baseBytes,
    limitBytes,
    isFree: (oid) => counted.has(oid),
  });
  if (choice.chosen.size === 0) return { kind: 'full', refusal: refuse(choice.refused, choice.usedBytes) };
  const refusal = choice.refused.size > 0 ? refuse(choice.refused, choice.usedBytes) : undefined;
  return { kind: 'fits', chosen: choice.chosen, refusal };
}

/** The oids whose bytes the floor holds already. */
function countedIn({ promised, seen }: ReconcileBasis): ReadonlySet<string> {
  const issued = [...promised].filter(([, { isIssued }]) => isIssued).map(([oid]) => oid);
  return new Set([...seen, ...issued]);
}

/** The oids that other live issued reservations of the repo claim. */
async function issuedOids(
  { ledger }: Pick<AdmitUploadDeps, 'ledger'>,
  input: Pick<LimitQuestion, 'attempt' | 'missing'> & { nowMs: number },
): Promise<ReadonlySet<string>> {
  const { attempt, missing, nowMs } = input;
  const { repo, id } = attempt.reservation;
  const issued = new Set<string>();
  for await (const page of ledger.reservationsOf({ tenant: attempt.tenant, repo })) {
    for (const reservation of page) {
      if (reservation.id === id || reservation.state !== 'issued' || isDead(reservation, nowMs)) continue;
      for (const oid of missing.keys()) if (reservation.claims.has(oid)) issued.add(oid);
    }
  }
  return issued;
}

/**
 * The chosen claims that the counter does not hold yet.
 *
 * @param basis of our own reconcile, which put what it found into the counter. Without it nothing is known,
 * so every claim is taken as not yet added.
 */
export function claimsNotYetAdded(
  chosen: ReadonlyMap<string, number>,
  basis: ReconcileBasis | undefined,
): ReadonlyMap<string, number> {
  if (!basis) return chosen;
  const { promised, seen } = basis;
  // The counter holds the largest size that was claimed for an object.
  const isAdded = (oid: string, sizeBytes: number) =>
    seen.has(oid) || (promised.get(oid)?.largestBytes ?? -1) >= sizeBytes;
  return new Map([...chosen].filter(([oid, sizeBytes]) => !isAdded(oid, sizeBytes)));
}
