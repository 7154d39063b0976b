import type { ReservationBody } from '../../lambda/http/management/reservations/schemas.ts';

/** Those that hold room first, of them the largest; then those of which all has arrived. */
export const sortReservations = (reservations: readonly ReservationBody[]): ReservationBody[] =>
  [...reservations].sort(
    (a, b) =>
      Number(a.arrived) - Number(b.arrived) ||
      b.bytes - a.bytes ||
      (a.reservedUntil < b.reservedUntil ? -1 : 1),
  );

/** What is going on with it, in a few words. */
export function reservationText({ state, arrived }: Pick<ReservationBody, 'state' | 'arrived'>): string {
  if (arrived) return 'arrived';
  if (state === 'pending') return 'being admitted';
  return state === 'issued' ? 'may arrive' : 'late, not all arrived';
}
