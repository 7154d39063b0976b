import * as z from 'zod';
import { bytes, nextCursor, time } from '../../../api/contract/fields.ts';

const reservationSchema = z
  .object({
    id: z.string().meta({ description: 'Names the reservation. It is no secret.' }),
    repo: z.string(),
    state: z.enum(['pending', 'issued', 'late']).meta({
      description:
        'pending: its batch is being answered, or died meanwhile. issued: its upload URLs were handed out. late: the ' +
        'last upload should have ended, but not every object was seen.',
    }),
    objectCount: z.int().min(0).meta({
      description:
        'Objects that it was made for, also those that have arrived. If it is late, the objects not seen.',
    }),
    bytes: bytes.meta({ description: 'Their size.' }),
    arrived: z.boolean().meta({
      description: 'The last count saw all of them. They count as stored, and it holds no room besides.',
    }),
    madeBy: z
      .string()
      .nullable()
      .meta({
        description:
          'The id of the token that asked for it; of the rule that gave a job its token; or of a user, such as github:1234. ' +
          "null: it isn't yours, and your token lacks the scope manage; an older version didn't note it; or deleted " +
          'objects may come back.',
      }),
    createdAt: time,
    expiresAt: time.meta({ description: 'No upload URL of it is valid after this.' }),
    reservedUntil: time.meta({
      description:
        'When it can no longer hold room: uploads that began before `expiresAt` have ended. If it is late, a day after ' +
        'that.',
    }),
  })
  .meta({ id: 'Reservation' });

export const reservationPageSchema = z
  .object({ reservations: z.array(reservationSchema), nextCursor })
  .meta({ id: 'ReservationPage' });

export const cancelledSchema = z
  .object({
    tenant: z.string(),
    cancelledCount: z.int().min(0).meta({ description: 'Cancelled reservations.' }),
    bytes: bytes.meta({
      description: 'Bytes that they claimed. An object of several of them counts for each.',
    }),
    hasMore: z.boolean().meta({ description: 'Others are left: send the request again.' }),
  })
  .meta({ id: 'CancelledReservations' });

export type ReservationBody = z.output<typeof reservationSchema>;
