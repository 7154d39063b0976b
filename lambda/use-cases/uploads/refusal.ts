import { type Reservation, sumClaims } from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';

/**
 * The objects of one batch that are refused, and what its person is told: what is taken up, by what, until when, and
 * how much is missing for all of them together.
 */
export interface Refusal {
  /** In the order of the request. At least one. */
  readonly oids: readonly string[];
  /** Objects that the batch asks for. */
  readonly askedCount: number;
  readonly limitBytes: number;
  /** Stored, as last counted. */
  readonly storedBytes: number;
  /** Promised to uploads under way, those that this batch was granted among them. With `storedBytes`: what is proven. */
  readonly reservedBytes: number;
  /** When the last of these uploads can no longer arrive. null: none is promised. */
  readonly reservedUntilMs: number | null;
  /** How much higher the limit would have to be for the refused objects. */
  readonly missingBytes: number;
  /** Whether room for all of them is left, if none of the other uploads under way arrives. */
  readonly isWaitingEnough: boolean;
}

/**
 * @param input.usedBytes the least that is taken up, including what this batch was granted.
 * @param input.grantedBytes what this batch adds to that.
 * @param input.isProven whether the tenant had a floor. Without it nothing is proven to be taken up, and what was last
 * counted is told.
 */
export function refusalOf(input: {
  /** The batch's own. */
  reservation: Reservation;
  tenant: TenantRecord;
  limitBytes: number;
  refused: ReadonlyMap<string, number>;
  usedBytes: number;
  grantedBytes: number;
  isProven: boolean;
}): Refusal {
  const { reservation, tenant, limitBytes, refused, grantedBytes } = input;
  const countedBytes = tenant.counted?.storedBytes ?? 0;
  const usedBytes = input.isProven ? input.usedBytes : countedBytes + grantedBytes;
  const storedBytes = Math.min(countedBytes, usedBytes - grantedBytes);
  const reservedBytes = usedBytes - storedBytes;
  const othersBytes = reservedBytes - grantedBytes;
  const untilMs = Math.max(
    othersBytes > 0 ? (tenant.reservedUntilMs ?? 0) : 0,
    grantedBytes > 0 ? reservation.deadAtMs : 0,
  );
  const missingBytes = Math.max(0, usedBytes + sumClaims(refused) - limitBytes);
  return {
    oids: [...refused.keys()],
    askedCount: reservation.claims.size,
    limitBytes,
    storedBytes,
    reservedBytes,
    reservedUntilMs: untilMs > 0 ? untilMs : null,
    missingBytes,
    isWaitingEnough: othersBytes >= missingBytes,
  };
}
