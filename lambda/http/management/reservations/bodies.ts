import { iso } from '../../../api/contract/fields.ts';
import { isManager, type Reader } from '../../../api/management/access.ts';
import { makerOf } from '../../../domain/reservation.ts';
import type { ShownReservation } from '../../../use-cases/uploads/list-reservations.ts';
import type { ReservationBody } from './schemas.ts';

/** @param reader other readers than managers learn of no token but their own. */
export function reservationBody(reservation: ShownReservation, reader: Reader): ReservationBody {
  const { id, repo, state, objectCount, bytes, hasArrived, madeBy } = reservation;
  const isOwn = reader.token !== undefined && madeBy === makerOf(reader.token);
  return {
    id,
    repo,
    state,
    objectCount,
    bytes,
    arrived: hasArrived,
    madeBy: isOwn || isManager(reader) ? madeBy : null,
    createdAt: iso(reservation.createdAtMs),
    expiresAt: iso(reservation.expiresAtMs),
    reservedUntil: iso(reservation.heldUntilMs),
  };
}
