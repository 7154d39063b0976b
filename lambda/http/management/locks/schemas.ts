import * as z from 'zod';
import { nextCursor, time } from '../fields.ts';

const fileLockSchema = z
  .object({
    id: z.string(),
    path: z.string(),
    owner: z.string().meta({
      description: 'The user of the token that took it or, without one, the id of the token.',
    }),
    ownerName: z.string().meta({ description: 'What git-lfs shows: the user, or the label of the token.' }),
    lockedAt: time,
  })
  .meta({ id: 'FileLock' });

export const fileLockPageSchema = z
  .object({ locks: z.array(fileLockSchema), nextCursor })
  .meta({ id: 'FileLockPage' });

export const releasedLocksSchema = z
  .object({
    tenant: z.string(),
    repo: z.string(),
    releasedCount: z.int().min(0),
    hasMore: z.boolean().meta({ description: 'Others are left. Repeat the request to release them.' }),
  })
  .meta({ id: 'ReleasedLocks' });

export type FileLockBody = z.output<typeof fileLockSchema>;
