import * as z from 'zod';
import type { JobQueue } from '../../core/rules/jobs.ts';
import { isOid, isRepoName, isTenantName } from '../../core/rules/names.ts';
import { chunksMax } from './rules/sizes.ts';
import { uploadIdPattern } from './rules/upload.ts';

const path = {
  tenant: z.string().refine(isTenantName),
  repo: z.string().refine(isRepoName),
  oid: z.string().refine(isOid),
  upload: z.string().regex(uploadIdPattern),
};

export const chunkMessage = z.discriminatedUnion('step', [
  /** Read a chunk, and keep what its bytes make of the state that the client says is before it. */
  z.object({
    step: z.literal('prove'),
    ...path,
    chunk: z
      .int()
      .min(0)
      .max(chunksMax - 1),
    stateBefore: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  /** Make the object, once all of its chunks are proven. */
  z.object({ step: z.literal('assemble'), ...path }),
  /** Give it up if its time is over, go on with what a worker left, and remove what is no longer needed. */
  z.object({ step: z.literal('tidy'), ...path }),
]);

export type ChunkMessage = Readonly<z.output<typeof chunkMessage>>;
export type ChunkQueue = JobQueue<ChunkMessage>;
