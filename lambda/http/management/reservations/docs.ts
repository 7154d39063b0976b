import type { OperationDocs } from '../../operation-docs.ts';
import { reservationQuery } from './requests.ts';
import { reservationPageSchema } from './schemas.ts';

const reservation = {
  id: '0b5f1c2d3e4a59687766554433221100',
  repo: 'game',
  state: 'issued',
  objectCount: 2,
  bytes: 2_000_000,
  arrived: false,
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
      'One reservation for each batch of uploads. They cannot be given up, because signed URLs cannot be recalled: ' +
      'until `reservedUntil` only a higher limit makes room. `reservedBytes` of the subscription is less than their ' +
      'sum if some of their objects have arrived, or several of them are for one object; and what is late holds room ' +
      'only as far as it exceeds the limit. A page may be shorter than asked for, or empty, without being the last.',
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
} satisfies OperationDocs;
