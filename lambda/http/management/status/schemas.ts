import * as z from 'zod';
import { time } from '../../../api/contract/fields.ts';
import { failureReasons } from '../../../domain/failure.ts';
import { statusParts } from '../../../domain/status.ts';
import { gaugedQueues } from '../../../ports/queue-gauges.ts';

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

export const statusSchema = z
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
