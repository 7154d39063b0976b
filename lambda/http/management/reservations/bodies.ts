import type { ShownReservation } from '../../../use-cases/uploads/list-reservations.ts';
import { iso } from '../fields.ts';
import type { ReservationBody } from './schemas.ts';

export function reservationBody(reservation: ShownReservation): ReservationBody {
  const { id, repo, state, objectCount, bytes, hasArrived } = reservation;
  return {
    id,
    repo,
    state,
    objectCount,
    bytes,
    arrived: hasArrived,
    madeBy: reservation.madeBy,
    createdAt: iso(reservation.createdAtMs),
    expiresAt: iso(reservation.expiresAtMs),
    reservedUntil: iso(reservation.heldUntilMs),
  };
}
