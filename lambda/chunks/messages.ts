import * as z from 'zod';
import { isCorrelationId } from '../rules/clock-and-log.ts';
import { isOid, isRepoName, isTenantName } from '../rules/names.ts';
import { parseJson } from '../rules/text.ts';
import { chunksMax, uploadIdPattern } from './rules/upload.ts';

const path = {
  tenant: z.string().refine(isTenantName),
  repo: z.string().refine(isRepoName),
  oid: z.string().refine(isOid),
  upload: z.string().regex(uploadIdPattern),
  // For the log alone.
  correlationId: z.string().refine(isCorrelationId).optional().catch(undefined),
};

/** A message of the queue of chunked uploads. */
const chunkMessage = z.discriminatedUnion('step', [
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

type DecodedChunkMessage = Readonly<z.output<typeof chunkMessage>>;
type WithoutCause<M> = M extends unknown ? Readonly<Omit<M, 'correlationId'>> : never;
export type ChunkMessage = WithoutCause<DecodedChunkMessage>;

/**
 * The queue of chunked uploads. It delivers each message at least once, several at a time, in any order. One that fails is
 * delivered again.
 */
export interface ChunkQueue {
  /** @throws when the queue did not accept some of them. It may have accepted others. */
  send(messages: readonly ChunkMessage[]): Promise<void>;
}

/** @returns undefined if the body is no such message. Retrying never helps then. */
export function decodeChunkMessage(body: string): DecodedChunkMessage | undefined {
  return chunkMessage.safeParse(parseJson(body)).data;
}
