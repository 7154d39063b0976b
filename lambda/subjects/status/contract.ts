import * as z from 'zod';
import { answer, type Contract } from '../../frame/contract/contract.ts';
import { count, stringOrNull, time, timeOrNull } from '../../frame/contract/fields.ts';
import { failureReasons } from '../../frame/failures/rules/failures.ts';
import { gaugedQueues } from '../../frame/gauges/rules/gauges.ts';
import { statusParts } from './rules/status.ts';

const partSchema = z.object({
  part: z.enum(statusParts),
  state: z.enum(['fine', 'act', 'unknown']).describe("act: needs attention. unknown: couldn't be checked."),
  says: z.string().describe('The result, in a sentence.'),
  todo: stringOrNull.describe('The next step. null: none.'),
});

const failureSchema = z.object({
  kind: z.enum(['reconcile', 'export']),
  tenant: z.string(),
  exportId: z.string().optional(),
  failedAt: time.describe('Its last failure.'),
  since: time.describe('Its first failure.'),
  tries: count.min(1),
  why: z.enum(failureReasons),
  over: z
    .boolean()
    .describe(
      'A later reconcile succeeded, or the tenant is deleted. Exports: it failed more than a day ago.',
    ),
});

const statusSchema = z
  .object({
    version: z.string().describe('The release that answers.'),
    commit: stringOrNull.describe('The commit that it was built from. null: unknown.'),
    checkedAt: time.describe('When the parts were checked.'),
    state: z.enum(['fine', 'act']).describe('fine: all parts are.'),
    parts: z.array(partSchema),
    store: z.object({
      kind: z.enum(['s3', 'external', 'embedded']),
      bucket: z.string(),
      endpoint: stringOrNull.describe('null: S3 in its own region.'),
      latencyMs: count.nullable().describe('Duration of one LIST. null: it failed.'),
    }),
    schedule: z
      .object({
        ranAt: timeOrNull.describe('When its last run started. null: never.'),
        handedUntil: timeOrNull.describe('Tenants due until then were enqueued.'),
      })
      .nullable()
      .describe('null: unknown.'),
    overdue: z
      .object({
        tenants: z
          .array(z.object({ tenant: z.string(), dueAt: time }))
          .describe('Overdue by more than an hour, the longest first, up to 100.'),
        more: z.boolean().describe('There can be more.'),
      })
      .nullable()
      .describe('null: unknown.'),
    queues: z
      .array(
        z.object({
          queue: z.enum(gaugedQueues),
          waiting: count,
          running: count.describe('Includes failed ones that SQS retries later.'),
          oldestAt: timeOrNull.describe(
            'Since when the oldest waits. null: none waits, or unknown, as with SQS.',
          ),
          deadLetters: count.nullable().describe('null: none.'),
          deadLettersAt: stringOrNull.describe('URL of their queue. Under `npm start`: their tenants.'),
        }),
      )
      .describe('Parts that responded.'),
    failures: z.array(failureSchema).nullable().describe('The last 20, the newest first. null: unknown.'),
  })
  .meta({ id: 'Status' });

export type StatusBody = z.output<typeof statusSchema>;

const example: StatusBody = {
  version: '0.1.0',
  commit: 'd6605e7b1d1c',
  checkedAt: '2026-11-21T05:00:00Z',
  state: 'fine',
  parts: [
    {
      part: 'store',
      state: 'fine',
      says: 'The object store (lfs-objects) responds in 24 ms.',
      todo: null,
    },
    {
      part: 'reconciles',
      state: 'fine',
      says: 'Reconciles: 3 waiting, 1 in progress, no dead letters.',
      todo: null,
    },
    {
      part: 'failures',
      state: 'fine',
      says: 'All failures have since been recovered.',
      todo: null,
    },
  ],
  store: { kind: 's3', bucket: 'lfs-objects', endpoint: null, latencyMs: 24 },
  schedule: { ranAt: '2026-11-21T04:58:20Z', handedUntil: '2026-11-21T04:58:10Z' },
  overdue: { tenants: [], more: false },
  queues: [
    {
      queue: 'reconciles',
      waiting: 3,
      running: 1,
      oldestAt: null,
      deadLetters: 0,
      deadLettersAt: 'https://sqs.eu-central-1.amazonaws.com/111122223333/reconciles-dead.fifo',
    },
  ],
  failures: [
    {
      kind: 'reconcile',
      tenant: 'acme',
      failedAt: '2026-11-21T04:56:00Z',
      since: '2026-11-21T04:50:00Z',
      tries: 4,
      why: 'store',
      over: true,
    },
  ],
};

export const statusContract = {
  'GET /v1/status': {
    id: 'readStatus',
    summary: 'Health of store, queues and schedule, and recent failures',
    description:
      "Checked on each request. A part that doesn't respond within 8 s is unknown; the status is 200 anyway. It costs 6 to 51 LISTs, two requests per queue, and about 10 read units.",
    access: 'admin',
    answers: { 200: answer('All of it.', statusSchema, example) },
  },
} as const satisfies Contract;
