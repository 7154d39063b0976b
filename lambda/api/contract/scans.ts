import * as z from 'zod';
import type { Contract } from './contract.ts';
import { nextCursor, pageQuery, time } from './fields.ts';

const steerCountBody = z
  .strictObject({
    state: z.enum(['running', 'paused', 'cancelled']).meta({
      description: 'paused: no shard is scanned until you resume. cancelled: stops the requested rescan.',
    }),
  })
  .meta({ id: 'SteerCount' });

const countSchema = z
  .object({
    repo: z.string(),
    kind: z.enum(['first', 'recount', 'rolling']).meta({
      description:
        'first: initial scan of a large repo, in shards. recount: requested rescan of all shards. rolling: regular scans, each shard once a round.',
    }),
    state: z.enum(['running', 'paused']),
    progress: z
      .object({
        share: z.number().min(0).max(1).meta({ description: 'Share of the names that were scanned.' }),
        objectCount: z.int().min(0).meta({ description: 'Objects counted so far.' }),
        listRequests: z.int().min(0).meta({ description: 'LIST requests made so far.' }),
        objectsPerSecond: z.number().min(0).nullable(),
        secondsLeft: z.int().min(0).nullable().meta({ description: 'null: unknown, or paused.' }),
        beganAt: time,
        updatedAt: time,
      })
      .nullable()
      .meta({ description: 'null: no scan of all shards is in progress.' }),
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
    summary: 'Progress of scans of large repos',
    description:
      'Repos that are scanned in shards, by name. A page can be short or empty without being the last.',
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
    summary: 'Pause, resume or cancel the scan of a large repo',
    description:
      "Finished shards keep their result. Pushes and deletes work, and count. You can only pause an initial scan: without it, the repo's usage is unknown.",
    access: 'manager',
    action: 'count.steer',
    body: { schema: steerCountBody, example: { state: 'paused' } },
    answers: {
      200: { description: 'The count.', schema: countSchema, example: { ...count, state: 'paused' } },
    },
    problems: ['repo-not-found', 'count-not-ended'],
  },
} as const satisfies Contract;
