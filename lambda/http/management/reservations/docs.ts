import type { OperationDocs } from '../../operation-docs.ts';
import { cancelQuery, reservationQuery } from './requests.ts';
import { cancelledSchema, reservationPageSchema } from './schemas.ts';

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
export const reservationDocs = {
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
    problems: ['tenant-not-found', 'repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/reservations': {
    id: 'cancelReservations',
    summary: 'Cancel what is late',
    description:
      'All reservations in the state late, or a part of them, by the query; 1,000 with one request. The recount that follows frees ' +
      'their space. The risk: an upload that is still in progress is stored beyond the limit, and a count finds it ' +
      'within a day. If you delete the tenant before that, such an object stays. A live one stays, and so does one that a count must check first, which takes minutes.',
    access: 'admin',
    action: 'reservations.cancel',
    query: cancelQuery,
    answers: {
      200: {
        description: 'How many were cancelled, and whether others are left.',
        schema: cancelledSchema,
        example: { tenant: 'acme', cancelledCount: 2, bytes: 2_000_000, hasMore: false },
      },
    },
    problems: ['tenant-not-found', 'tenant-closed'],
  },
} satisfies OperationDocs;
