import * as z from 'zod';
import { failureReasons, gaugedQueues, statusParts } from '../../status/rules/status.ts';
import type { Contract } from './contract.ts';
import { time } from './fields.ts';

const count = z.int().min(0);

const partSchema = z.object({
  part: z.enum(statusParts),
  state: z.enum(['fine', 'act', 'unknown']).meta({
    description: 'act: something is to be done. unknown: it could not be looked at.',
  }),
  says: z.string().meta({ description: 'What there is, in a sentence.' }),
  todo: z.string().nullable().meta({ description: 'What to do. null: nothing.' }),
});

const failureSchema = z.object({
  kind: z.enum(['recount', 'export']),
  tenant: z.string(),
  exportId: z.string().optional(),
  failedAt: time.meta({ description: 'When it failed last.' }),
  since: time.meta({ description: 'When the first of its tries failed.' }),
  tries: count.min(1),
  why: z.enum(failureReasons),
  over: z.boolean().meta({
    description: 'The tenant was counted since, or is gone. Of an export: it failed more than a day ago.',
  }),
});

const statusSchema = z
  .object({
    checkedAt: time.meta({ description: 'All of it was asked for then.' }),
    state: z.enum(['fine', 'act']).meta({ description: 'fine: each part is.' }),
    parts: z.array(partSchema),
    store: z.object({
      kind: z.enum(['s3', 'external', 'embedded']),
      bucket: z.string(),
      endpoint: z.string().nullable().meta({ description: 'null: S3 in its own region.' }),
      latencyMs: count.nullable().meta({ description: 'Of one LIST. null: it was not served.' }),
    }),
    schedule: z
      .object({
        ranAt: time.nullable().meta({ description: 'When its last run began. null: it never ran.' }),
        handedUntil: time.nullable().meta({
          description: 'Whoever became due until then was handed to the queue.',
        }),
      })
      .nullable()
      .meta({ description: 'null: the table does not tell.' }),
    overdue: z
      .object({
        tenants: z.array(z.object({ tenant: z.string(), dueAt: time })).meta({
          description: 'Due for more than an hour, those due longest first, at most 100.',
        }),
        more: z.boolean().meta({ description: 'There may be more.' }),
      })
      .nullable()
      .meta({ description: 'null: the table does not tell.' }),
    queues: z
      .array(
        z.object({
          queue: z.enum(gaugedQueues),
          waiting: count,
          running: count.meta({ description: 'Also those that failed and wait for their next try on SQS.' }),
          oldestAt: time.nullable().meta({
            description: 'Since when the oldest waits. null: none waits, or it does not tell, as SQS.',
          }),
          deadLetters: count.nullable().meta({ description: 'null: it keeps none.' }),
          deadLettersAt: z.string().nullable().meta({
            description: 'The URL of their queue. Under `npm start`: their tenants, if there are any.',
          }),
        }),
      )
      .meta({ description: 'Those that answered.' }),
    failures: z
      .array(failureSchema)
      .nullable()
      .meta({ description: 'The last 20, the newest first. null: the table does not tell.' }),
  })
  .meta({ id: 'Status' });

export type StatusBody = z.output<typeof statusSchema>;

const example: StatusBody = {
  checkedAt: '2026-11-21T05:00:00Z',
  state: 'fine',
  parts: [
    {
      part: 'store',
      state: 'fine',
      says: 'The object store (lfs-objects) answers, in 24 ms.',
      todo: null,
    },
    {
      part: 'recounts',
      state: 'fine',
      says: 'Recounts: 3 waiting, 1 under way, no dead letters.',
      todo: null,
    },
    {
      part: 'failures',
      state: 'fine',
      says: 'Nothing failed that was not made up for since.',
      todo: null,
    },
  ],
  store: { kind: 's3', bucket: 'lfs-objects', endpoint: null, latencyMs: 24 },
  schedule: { ranAt: '2026-11-21T04:58:20Z', handedUntil: '2026-11-21T04:58:10Z' },
  overdue: { tenants: [], more: false },
  queues: [
    {
      queue: 'recounts',
      waiting: 3,
      running: 1,
      oldestAt: null,
      deadLetters: 0,
      deadLettersAt: 'https://sqs.eu-central-1.amazonaws.com/111122223333/recounts-dead.fifo',
    },
  ],
  failures: [
    {
      kind: 'recount',
      tenant: 'acme',
      failedAt: '2026-11-21T04:56:00Z',
      since: '2026-11-21T04:50:00Z',
      tries: 4,
      why: 'store',
      over: true,
    },
  ],
};

/** What the operator looks at first. */
export const statusContract = {
  'GET /v1/status': {
    id: 'readStatus',
    summary: 'What failed; store, queues and schedule at a glance',
    description:
      'Asked anew each time. What does not answer within 8 s is shown as unknown, with what to do; the answer is 200 all ' +
      'the same. It takes one LIST, two requests for each queue and some ten read units of the table.',
    access: 'admin',
    answers: { 200: { description: 'All of it.', schema: statusSchema, example } },
  },
} as const satisfies Contract;
