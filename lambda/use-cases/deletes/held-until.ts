import { isDead } from '../../domain/reservation.ts';
import type { Deps } from '../deps.ts';

/**
 * When the last live reservation of a repo is dead. Until then its URLs may bring back what it claims, so that is not
 * deleted.
 *
 * @param input.oid only the reservations that claim this object. Default: all.
 * @returns 0 if there is none.
 */
export async function heldUntilMs(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  input: { tenant: string; repo: string; oid?: string },
): Promise<number> {
  const { tenant, repo, oid } = input;
  let untilMs = 0;
  for await (const page of ledger.reservationsOf({ tenant, repo })) {
    for (const reservation of page) {
      if (isDead(reservation, clock.nowMs())) continue;
      if (oid === undefined || reservation.claims.has(oid)) untilMs = Math.max(untilMs, reservation.deadAtMs);
    }
  }
  return untilMs;
}
