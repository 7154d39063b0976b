import * as z from 'zod';
import {
  decodeReservationCursor,
  ofRepo,
  pageOf,
  reservationCursorPattern,
} from '../../../api/contract/fields.ts';

export const reservationQuery = pageOf(reservationCursorPattern, decodeReservationCursor).extend(ofRepo);

const filterRule = 'only repo, id and madeBy are known. No reservation was cancelled';

/** If you misspell a filter, you don't cancel what it was to spare. */
export const cancelQuery = z.strictObject(
  {
    ...ofRepo,
    id: z
      .string()
      .min(1, 'must be the id of a reservation')
      .optional()
      .meta({ description: 'Only this one.' }),
    madeBy: z
      .string()
      .min(1, 'must be the id of a token, a rule or a user')
      .optional()
      .meta({ description: 'Only reservations of this token, rule or user.' }),
  },
  filterRule,
);
