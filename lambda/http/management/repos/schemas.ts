import * as z from 'zod';
import { bytes, deleting, nextCursor, time } from '../fields.ts';

export const repoSchema = z
  .object({
    repo: z.string(),
    limitBytes: bytes.nullable().meta({ description: 'Its own limit. null: only that of the tenant.' }),
    storedBytes: bytes.nullable().meta({ description: 'null: not counted yet.' }),
    objectCount: z.int().min(0).nullable(),
    countedAt: time.nullable(),
    deleting,
  })
  .meta({ id: 'Repo' });

export const repoPageSchema = z.object({ repos: z.array(repoSchema), nextCursor }).meta({ id: 'RepoPage' });

export type RepoBody = z.output<typeof repoSchema>;

export const recountQueuedSchema = z
  .object({ tenant: z.string(), queued: z.literal(true) })
  .meta({ id: 'RecountQueued' });
