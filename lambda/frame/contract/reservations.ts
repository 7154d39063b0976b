import * as z from 'zod';
import { answer, type Contract } from './contract.ts';
import { alphanumeric, bytes, count, cursorOf, ofRepo, page, pageOf, stringOrNull, time } from './fields.ts';

/** What the cursor of a list of reservations looks like: in hex an id, `#` and the name of a repo. */
const reservationCursorPattern = new RegExp(
  `^c(?:3[0-9]|6[1-6]){32}23(?:${alphanumeric})(?:(?:${alphanumeric}|2[de]|5f){0,98}(?:${alphanumeric}|2d|5f))?$`,
);

export const reservationCursor = cursorOf('reservationId', 'repo');

const reservationQuery = pageOf(reservationCursorPattern, reservationCursor.decode).extend(ofRepo);

const filterRule = 'use repo, id and madeBy only. No reservation was canceled';

/** If you misspell a filter, you don't cancel what it was to spare. */
const cancelQuery = z.strictObject(
  {
    ...ofRepo,
    id: z.string().min(1, 'must be the id of a reservation').optional().describe('Only this one.'),
    madeBy: z
      .string()
      .min(1, 'must be the id of a token, a rule or a user')
      .optional()
      .describe('Only reservations of this token, rule or user.'),
  },
  filterRule,
);

const reservationSchema = z
  .object({
    id: z.string().describe("Identifies the reservation. It isn't a secret."),
    repo: z.string(),
    state: z
      .enum(['pending', 'issued', 'unconfirmed'])
      .describe(
        'pending: its batch is being processed. issued: upload URLs are out. unconfirmed: no upload can finish any more, as far as the server can tell, and some objects never arrived, or were deleted and can return.',
      ),
    objectCount: count.describe("All its objects, including uploaded ones. If it's unconfirmed, only these."),
    bytes: bytes.describe('Their size.'),
    arrived: z
      .boolean()
      .describe('The last scan saw all of them. They count as stored, and nothing is reserved.'),
    madeBy: stringOrNull.describe(
      "The id of the token, of the CI rule, or of a git host's user such as github:1234. null: it isn't yours and your token lacks the manage scope; an older version created it; or deleted objects can return.",
    ),
    createdAt: time,
    expiresAt: time.describe('When its last upload URL expires.'),
    reservedUntil: time.describe(
      "When it stops reserving space: uploads that started before `expiresAt` have finished. If it's unconfirmed, a day after that.",
    ),
  })
  .meta({ id: 'Reservation' });

const reservationPageSchema = page('ReservationPage', { reservations: z.array(reservationSchema) });

const cancelledSchema = z
  .object({
    tenant: z.string(),
    cancelledCount: count.describe('Canceled reservations.'),
    bytes: bytes.describe('Their bytes. An object in several of them counts several times.'),
    hasMore: z.boolean().describe('More are left. Repeat the request.'),
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

export const reservationContract = {
  'GET /v1/tenants/{tenant}/reservations': {
    id: 'listReservations',
    summary: 'Uploads in progress, by repo',
    description:
      "One reservation per upload batch. Signed URLs can't be recalled: until it's unconfirmed, only a higher limit helps. `reservedBytes` of the subscription can be less than their total: uploaded objects, duplicates and objects of unconfirmed reservations below the limit don't count. A page can be short or empty without being the last. Without the manage scope, `madeBy` shows only your own id.",
    access: 'reader',
    query: reservationQuery,
    answers: {
      200: answer('One page.', reservationPageSchema, { reservations: [reservation], nextCursor: null }),
    },
    problems: ['repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/reservations': {
    id: 'cancelReservations',
    summary: 'Cancel unconfirmed reservations',
    description:
      "All unconfirmed reservations, or the ones matching the query; 1,000 per request. A reconcile then frees their space. The risk: an upload that's still in progress ends up beyond the limit, until a scan counts it within a day. If you delete the tenant before that, such an object stays. Live reservations stay. Others can stay until a scan has checked them, which takes minutes. With `id`, it also ends that push's uploads in chunks: within an hour, their chunks are deleted and their space is free.",
    access: 'admin',
    onlyOpen: true,
    action: 'reservations.cancel',
    query: cancelQuery,
    answers: {
      200: answer('The number of canceled reservations, and whether more are left.', cancelledSchema, {
        tenant: 'acme',
        cancelledCount: 2,
        bytes: 2_000_000,
        hasMore: false,
      }),
    },
  },
} as const satisfies Contract;
