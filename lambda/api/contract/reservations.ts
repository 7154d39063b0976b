import * as z from 'zod';
import type { Contract } from './contract.ts';
import {
  alphanumeric,
  bytes,
  decodeCursor,
  encodeCursor,
  nextCursor,
  ofRepo,
  pageOf,
  time,
} from './fields.ts';

interface ReservationPlace {
  readonly repo: string;
  readonly reservationId: string;
}

/** What the cursor of a list of reservations looks like: in hex an id, `#` and the name of a repo. */
const reservationCursorPattern = new RegExp(
  `^c(?:3[0-9]|6[1-6]){32}23(?:${alphanumeric})(?:(?:${alphanumeric}|2[de]|5f){0,98}(?:${alphanumeric}|2d|5f))?$`,
);

export function encodeReservationCursor({ repo, reservationId }: ReservationPlace): string {
  return encodeCursor(`${reservationId}#${repo}`);
}

/** @param cursor of the form {@link reservationCursorPattern}. */
function decodeReservationCursor(cursor: string): ReservationPlace {
  const [reservationId = '', repo = ''] = decodeCursor(cursor).split('#');
  return { repo, reservationId };
}

const reservationQuery = pageOf(reservationCursorPattern, decodeReservationCursor).extend(ofRepo);

const filterRule = 'only repo, id and madeBy are known. No reservation was cancelled';

/** If you misspell a filter, you don't cancel what it was to spare. */
const cancelQuery = z.strictObject(
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

const reservationPageSchema = z
  .object({ reservations: z.array(reservationSchema), nextCursor })
  .meta({ id: 'ReservationPage' });

const cancelledSchema = z
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

const reservation = {
  id: '0b5f1c2d3e4a59687766554433221100',
  repo: 'game',
  state: 'issued',
  objectCount: 2,
  bytes: 2_000_000,
  arrived: false,
  madeBy: '9f3c2b1a0d4e5f60',
  createdAt: '2026-11-21T04:59:00Z',
  expiresAt: '2026-11-21T05:30:00Z',
  reservedUntil: '2026-11-21T05:35:11Z',
};

/** What is promised to uploads. */
export const reservationContract = {
  'GET /v1/tenants/{tenant}/reservations': {
    id: 'listReservations',
    summary: 'What is promised to uploads under way, repo by repo',
    description:
      "One reservation for each batch of uploads. Signed URLs can't be recalled: until it is late, only a higher limit " +
      'frees space. `reservedBytes` of the subscription is less than their ' +
      'sum if some of their objects have arrived, or several of them are for one object; and what is late takes up space ' +
      'only as far as it exceeds the limit. A page can be shorter than asked for, or empty, without being the last. ' +
      'Without the scope manage, `madeBy` shows only your own id.',
    access: 'reader',
    query: reservationQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: reservationPageSchema,
        example: { reservations: [reservation], nextCursor: null },
      },
    },
    problems: ['repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/reservations': {
    id: 'cancelReservations',
    summary: 'Cancel what is late',
    description:
      'All reservations in the state late, or a part of them, by the query; 1,000 with one request. The recount that follows frees ' +
      'their space. The risk: an upload that is still in progress is stored beyond the limit, and a count finds it ' +
      'within a day. If you delete the tenant before that, such an object stays. A live one stays, and so does one that a count must check first, which takes minutes.',
    access: 'admin',
    onlyOpen: true,
    action: 'reservations.cancel',
    query: cancelQuery,
    answers: {
      200: {
        description: 'How many were cancelled, and whether others are left.',
        schema: cancelledSchema,
        example: { tenant: 'acme', cancelledCount: 2, bytes: 2_000_000, hasMore: false },
      },
    },
  },
} as const satisfies Contract;
