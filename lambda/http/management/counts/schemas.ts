import * as z from 'zod';
import { nextCursor, time } from '../../../api/contract/fields.ts';

export const countSchema = z
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

export const countPageSchema = z
  .object({ counts: z.array(countSchema), nextCursor })
  .meta({ id: 'CountPage' });

export type CountBody = z.infer<typeof countSchema>;
