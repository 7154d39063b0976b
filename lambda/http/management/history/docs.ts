import type { OperationDocs } from '../../operation-docs.ts';
import { historyQuery } from './requests.ts';
import { historySchema } from './schemas.ts';

export const lastRefusal = {
  at: '2026-11-21T05:00:00Z',
  repo: 'game',
  user: 'ada',
  files: 2,
  bytes: 52_000_000_000,
  shortBytes: 1_200_000,
  limit: 'tenant',
};

/** What was stored on each day. */
export const historyDocs = {
  'GET /v1/tenants/{tenant}/history': {
    id: 'getHistory',
    summary: 'What was stored, refused and offered on each day, and when the tenant is full',
    description:
      'One entry for each day (UTC), from the first of which anything is known. Days are kept for 400 days. Of days that are ' +
      'not kept, or are still to come, nothing is answered.',
    access: 'reader',
    query: historyQuery,
    answers: {
      200: {
        description: 'The days and the forecast.',
        schema: historySchema,
        example: {
          tenant: 'acme',
          limitBytes: 100_000_000_000,
          from: '2026-10-23',
          to: '2026-11-21',
          days: [
            {
              day: '2026-11-21',
              storedBytes: 48_000_000_000,
              objectCount: 9_120,
              maxStoredBytes: 48_200_000_000,
              refusals: 0,
              downloads: { bytes: 14_700_000, objects: 6 },
              carried: false,
            },
          ],
          forecast: { fullOn: '2027-02-03', reason: null, bytesPerDay: 702_000_000 },
          lastRefusals: [lastRefusal],
        },
      },
    },
    problems: ['tenant-not-found'],
  },
} satisfies OperationDocs;
