import { decodeReservationCursor, reservationCursorPattern } from '../cursor.ts';
import { ofRepo, pageOf } from '../queries.ts';

export const reservationQuery = pageOf(reservationCursorPattern, decodeReservationCursor).extend(ofRepo);
