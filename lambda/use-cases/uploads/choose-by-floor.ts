import { chooseWithin, claimKey } from '../../domain/admission.ts';
import { isDead, type Reservation } from '../../domain/reservation.ts';
import { floorBytes, type TenantRecord } from '../../domain/tenant.ts';
import type { ReconcileBasis } from '../recounts/reconcile.ts';
import type { AdmitUploadDeps, BatchAttempt } from './batch-attempt.ts';

/** What is refused, and what the refusal says. */
export interface Refusal {
  readonly oids: readonly string[];
  readonly usedBytes: number;
  readonly limitBytes: number;
}

/** What a batch wants, when the counter has refused it. */
export interface LimitQuestion {
  readonly attempt: BatchAttempt;
  readonly wanted: ReadonlyMap<string, number>;
}

export type FloorChoice =
  | { kind: 'fits'; chosen: ReadonlyMap<string, number>; refused: Refusal | undefined }
  | { kind: 'full'; refused: Refusal };

/** Chooses by what the tenant takes up at least: what does not fit there is over the limit for certain. */
export async function chooseByFloor(
  deps: AdmitUploadDeps,
  input: LimitQuestion & { tenant: TenantRecord; basis: ReconcileBasis | undefined },
): Promise<FloorChoice> {
  const { attempt, wanted, tenant, basis } = input;
  const nowMs = deps.clock.nowMs();
  // Without a floor in force nothing is known to be taken up, so only what exceeds the limit by itself is refused.
  const baseBytes = floorBytes(tenant, nowMs) ?? 0;
  const limitBytes = tenant.limitBytes ?? Number.MAX_SAFE_INTEGER;
  const refusal = (oids: Iterable<string>, usedBytes: number) => ({ oids: [...oids], usedBytes, limitBytes });
  if (baseBytes > limitBytes) return { kind: 'full', refused: refusal(wanted.keys(), baseBytes) };

  const { repo, id } = attempt.reservation;
  const live = basis ? basis.live : await liveReservations(deps, { tenant: attempt.tenant, nowMs });
  const issued = new Set<string>();
  for (const reservation of live) {
    if (reservation.id === id || reservation.repo !== repo || reservation.state !== 'issued') continue;
    for (const oid of reservation.claims.keys()) issued.add(oid);
  }
  const seen = basis?.scans.get(repo)?.seen;
  const choice = chooseWithin({
    wanted,
    baseBytes,
    limitBytes,
    addsNothing: (oid) => issued.has(oid) || (seen?.has(oid) ?? false),
  });
  if (choice.chosen.size === 0)
    return { kind: 'full', refused: refusal(choice.refused.keys(), choice.usedBytes) };
  const refused = choice.refused.size > 0 ? refusal(choice.refused.keys(), choice.usedBytes) : undefined;
  return { kind: 'fits', chosen: choice.chosen, refused };
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

/** Of what was chosen, the claims that the reconcile has not put into the counter already. */
export function claimsNotYetAdded(
  chosen: ReadonlyMap<string, number>,
  input: { repo: string; basis: ReconcileBasis | undefined },
): ReadonlyMap<string, number> {
  const { repo, basis } = input;
  if (!basis) return chosen;
  const countedBytes = new Map<string, number>();
  for (const reservation of basis.live) {
    for (const [oid, sizeBytes] of reservation.claims) {
      const object = claimKey({ repo: reservation.repo, oid });
      countedBytes.set(object, Math.max(sizeBytes, countedBytes.get(object) ?? 0));
    }
  }
  const seen = basis.scans.get(repo)?.seen;
  const isCounted = (oid: string, sizeBytes: number) =>
    seen?.has(oid) || (countedBytes.get(claimKey({ repo, oid })) ?? -1) >= sizeBytes;
  return new Map([...chosen].filter(([oid, sizeBytes]) => !isCounted(oid, sizeBytes)));
}
