import * as z from 'zod';
import type { Contract } from './contract.ts';
import { nextCursor, pageQuery, time } from './fields.ts';

const steerCountBody = z
  .strictObject({
    state: z.enum(['running', 'paused', 'cancelled']).meta({
      description:
        'paused: no shard is scanned until it is running again. cancelled: the recount that is under way is given up.',
    }),
  })
  .meta({ id: 'SteerCount' });

const countSchema = z
  .object({
    repo: z.string(),
    kind: z.enum(['first', 'recount', 'rolling']).meta({
      description:
        'first: the repo became so large that it is counted by shards, and not all of them are counted yet. recount: ' +
        'somebody asked for all to be counted again. rolling: each shard is counted once in a round.',
    }),
    state: z.enum(['running', 'paused']),
    progress: z
      .object({
        share: z.number().min(0).max(1).meta({ description: 'Share of the names that are counted.' }),
        objectCount: z.int().min(0).meta({ description: 'Objects counted so far.' }),
        listRequests: z.int().min(0).meta({ description: 'LIST requests made so far.' }),
        objectsPerSecond: z.number().min(0).nullable(),
        secondsLeft: z
          .int()
          .min(0)
          .nullable()
          .meta({ description: 'null: nothing tells it yet, or it is paused.' }),
        beganAt: time,
        updatedAt: time,
      })
      .nullable()
      .meta({ description: 'null: no count of all shards is under way.' }),
  })
  .meta({ id: 'Count' });

const countPageSchema = z.object({ counts: z.array(countSchema), nextCursor }).meta({ id: 'CountPage' });

export type CountBody = z.infer<typeof countSchema>;

const count = {
  repo: 'footage',
  kind: 'first',
  state: 'running',
  progress: {
    share: 0.25,
    objectCount: 125_000_000,
    listRequests: 126_400,
    objectsPerSecond: 694_444.4,
    secondsLeft: 540,
    beganAt: '2026-11-21T05:00:00Z',
    updatedAt: '2026-11-21T05:03:00Z',
  },
};

/** The counts of giant repos. */
export const countContract = {
  'GET /v1/tenants/{tenant}/counts': {
    id: 'listCounts',
    summary: 'How far the counts of giant repos are',
    description:
      'Repos that are counted by shards, by name. A page may be shorter than asked for, or empty, without being the last.',
    access: 'reader',
    query: pageQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: countPageSchema,
        example: { counts: [count], nextCursor: null },
      },
    },
  },
  'PATCH /v1/tenants/{tenant}/repos/{repo}/count': {
    id: 'changeCount',
    summary: 'Pause the count of a giant repo, resume it, or give up a recount',
    description:
      'What was counted stays. Pushes and deletes go on, and are counted. A first count can only be paused: until it has ' +
      'ended, nobody knows what the repo holds.',
    access: 'manager',
    action: 'count.steer',
    body: { schema: steerCountBody, example: { state: 'paused' } },
    answers: {
      200: { description: 'The count.', schema: countSchema, example: { ...count, state: 'paused' } },
    },
    problems: ['repo-not-found', 'count-not-ended'],
  },
} as const satisfies Contract;
