import { type Reservation, sumClaims } from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { LimitState } from './limit-state.ts';

/**
 * The objects of one batch that are refused, and what its person is told: what is taken up, by what, until when, and
 * how much is missing for all of them together.
 */
export interface Refusal {
  /** In the order of the request. At least one. */
  readonly oids: readonly string[];
  /** Objects that the batch asks for. */
  readonly askedCount: number;
  /** The repo whose own limit it is. null: the tenant's. */
  readonly repo: string | null;
  readonly limitBytes: number;
  /** Stored, as last counted. */
  readonly storedBytes: number;
  /** Promised to uploads under way, those that this batch was granted among them. With `storedBytes`: what is proven. */
  readonly reservedBytes: number;
  /** When the last of these uploads can no longer arrive. null: none is promised. */
  readonly reservedUntilMs: number | null;
  /** Of the refused objects together. */
  readonly refusedBytes: number;
  /** How much higher the limit would have to be for the refused objects. */
  readonly missingBytes: number;
  /** Whether room for all of them is left, if none of the other uploads under way arrives. */
  readonly isWaitingEnough: boolean;
}

interface RefusalInput {
  /** The batch's own. */
  readonly reservation: Reservation;
  readonly tenant: TenantRecord;
  readonly refused: ReadonlyMap<string, number>;
  /** What this batch was granted, beyond what is taken up already. */
  readonly grantedBytes: number;
}

/** @param limits at least one. The refusal tells of the one by which the most is missing. */
export function refusalOf(input: RefusalInput & { limits: readonly LimitState[] }): Refusal {
  const refusals = input.limits.map((limit) => refusalBy(limit, input));
  return refusals.reduce((worst, refusal) => (refusal.missingBytes > worst.missingBytes ? refusal : worst));
}

/** Without a floor nothing is proven to be taken up, and what was last counted is told. */
function refusalBy(limit: LimitState, input: RefusalInput): Refusal {
  const { reservation, tenant, refused, grantedBytes } = input;
  const { countedBytes, provenBytes, limitBytes } = limit;
  const usedBytes = (provenBytes ?? countedBytes) + grantedBytes;
  const storedBytes = Math.min(countedBytes, usedBytes - grantedBytes);
  const reservedBytes = usedBytes - storedBytes;
  const othersBytes = reservedBytes - grantedBytes;
  const untilMs = Math.max(
    othersBytes > 0 ? (tenant.reservedUntilMs ?? 0) : 0,
    grantedBytes > 0 ? reservation.deadAtMs : 0,
  );
  const refusedBytes = sumClaims(refused);
  const missingBytes = Math.max(0, usedBytes + refusedBytes - limitBytes);
  return {
    oids: [...refused.keys()],
    askedCount: reservation.claims.size,
    repo: limit.repo,
    limitBytes,
    storedBytes,
    reservedBytes,
    reservedUntilMs: untilMs > 0 ? untilMs : null,
    refusedBytes,
    missingBytes,
    isWaitingEnough: othersBytes >= missingBytes,
  };
}
