import * as z from 'zod';
import { answer, type Contract } from '../../frame/contract/contract.ts';
import { bytes, bytesOrNull, count, day, onlyTrue } from '../../frame/contract/fields.ts';
import { forecastSchema, lastRefusalsSchema } from '../../frame/contract/outlook.ts';
import type { SubscriptionFields } from '../../frame/contract/repos.ts';

const historySchema = z
  .object({
    tenant: z.string(),
    limitBytes: bytesOrNull.describe('Now. null: unlimited.'),
    from: z.iso.date(),
    to: z.iso.date(),
    days: z.array(
      z.object({
        day: z.iso.date(),
        storedBytes: bytes.describe('At the last scan of the day.'),
        objectCount: count,
        maxStoredBytes: bytes.describe('The highest usage that a scan found on the day.'),
        maxUsedBytes: bytes.describe('The same, with pending uploads.'),
        limitBytes: bytesOrNull
          .optional()
          .describe("The tenant's limit at the end of the day. null: unlimited. Omitted: unknown."),
        refusals: count.describe(
          'Batches with objects rejected by the limit: a lower bound if a client retries in a loop.',
        ),
        repoRefusals: count.describe("The same for a repo's own limit."),
        downloads: z
          .object({ bytes, objects: count })
          .nullable()
          .describe('Offered downloads. null: unknown.'),
        carried: z
          .boolean()
          .describe(
            'Not scanned on this day, because nothing changed: these are the figures of the day before.',
          ),
        sample: onlyTrue.describe(
          'Only if the day is sample data: in the demo, the year before its first day.',
        ),
      }),
    ),
    forecast: forecastSchema,
    lastRefusals: lastRefusalsSchema,
  })
  .meta({ id: 'History' });

export type HistoryBody = z.output<typeof historySchema>;

const lastRefusal = {
  at: '2026-11-21T05:00:00Z',
  repo: 'game',
  user: 'ada',
  files: 2,
  atLeast: false,
  bytes: 52_000_000_000,
  shortBytes: 1_200_000,
  limit: 'tenant',
};

export const historyContract = {
  'GET /v1/tenants/{tenant}/history': {
    id: 'getHistory',
    summary: 'Usage, rejected pushes and downloads by day, and a forecast',
    description: 'One entry per day (UTC), starting with the first known one, for up to 400 days.',
    access: 'reader',
    query: z.strictObject({
      from: day('The first day, in UTC. Default: 29 days before the last.'),
      to: day('The last day, in UTC. Default: today.'),
    }),
    answers: {
      200: answer('The days and the forecast.', historySchema, {
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
            maxUsedBytes: 49_100_000_000,
            limitBytes: 100_000_000_000,
            refusals: 0,
            repoRefusals: 0,
            downloads: { bytes: 14_700_000, objects: 6 },
            carried: false,
          },
        ],
        forecast: { fullOn: '2027-02-03', reason: null, bytesPerDay: 702_000_000 },
        lastRefusals: [lastRefusal],
      }),
    },
  },
} as const satisfies Contract;

/** What a subscription says of the past and the future. */
export const outlookFields = {
  shown: { forecast: forecastSchema, lastRefusals: lastRefusalsSchema },
  example: {
    forecast: { fullOn: '2027-02-03', reason: null, bytesPerDay: 70_200_000 },
    lastRefusals: [lastRefusal],
  },
  emptyExample: {
    forecast: { fullOn: null, reason: 'unlimited', bytesPerDay: null },
    lastRefusals: [],
  },
} as const satisfies SubscriptionFields;
