import * as z from 'zod';
import { bytes, nextCursor, time } from '../fields.ts';

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
        'Objects that it was made for, also those that have arrived. If it is late, those not seen.',
    }),
    bytes: bytes.meta({ description: 'Their size.' }),
    arrived: z.boolean().meta({
      description: 'The last count saw all of them. They count as stored, and it holds no room besides.',
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

export type ReservationBody = z.output<typeof reservationSchema>;
