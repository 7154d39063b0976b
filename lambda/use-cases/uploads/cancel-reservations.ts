import type { Deps } from '../../deps.ts';
import { isDead, type Reservation } from '../../domain/reservation.ts';
import { forEachLimited } from '../../rules/async.ts';

/** Reservations that one request cancels, at most: as many as it can delete in time. */
const cancelledMax = 1000;
const deletesAtOnce = 16;

/** Which of a tenant's late reservations. Default: all. */
export interface CancelFilter {
  readonly repo?: string | undefined;
  readonly id?: string | undefined;
  readonly madeBy?: string | undefined;
}

/**
 * Cancels late reservations: what they claim no longer counts. A PUT that's still in progress can take the tenant beyond
 * its limit, and the next full count finds it.
 *
 * One that a scan is to look at by now stays: until then it may be the only sign that its repo changed. In a giant, a scan
 * may have found out about a part of it only.
 *
 * @returns how many were cancelled, their bytes, and whether others are left.
 * @throws {LedgerUnavailableError} Some may have been cancelled.
 */
export async function cancelReservations(
  { ledger, queue, clock, settings }: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'settings'>,
  { tenant, ...filter }: CancelFilter & { tenant: string },
): Promise<{ count: number; bytes: number; hasMore: boolean }> {
  const chosen: Reservation[] = [];
  const pages =
    filter.repo === undefined
      ? ledger.reservations(tenant)
      : ledger.reservationsOf({ tenant, repo: filter.repo });
  const nowMs = clock.nowMs();
  // By the clock of whoever scanned, too.
  const lookedAtMs = nowMs + 2 * settings.clockSkewMs;
  for await (const page of pages) {
    chosen.push(...page.filter((reservation) => isToGo(reservation, { filter, nowMs, lookedAtMs })));
    if (chosen.length > cancelledMax) break;
  }
  const going = chosen.slice(0, cancelledMax);
  let bytes = 0;
  await forEachLimited(going, deletesAtOnce, async ({ repo, id: reservationId, claims }) => {
    if ((await ledger.deleteReservation({ tenant, repo, reservationId })) === 'deleted')
      for (const sizeBytes of claims.values()) bytes += sizeBytes;
  });
  if (going.length > 0) await queue.request({ tenant, reason: 'manual', full: false });
  return { count: going.length, bytes, hasMore: chosen.length > cancelledMax };
}

function isToGo(
  reservation: Reservation,
  { filter, nowMs, lookedAtMs }: { filter: CancelFilter; nowMs: number; lookedAtMs: number },
): boolean {
  const { state, lookAtMs, id, madeBy } = reservation;
  const isLate =
    state === 'issued' && lookAtMs !== null && lookAtMs > lookedAtMs && isDead(reservation, nowMs);
  return (
    isLate &&
    (filter.id === undefined || id === filter.id) &&
    (filter.madeBy === undefined || madeBy === filter.madeBy)
  );
}
