import * as z from 'zod';
import { isCorrelationId } from '../domain/invocation.ts';

const count = z.int().min(0);
const name = z.string().max(1024);

/** Names to look for in one shard, at most. */
const lookForMax = 20_000;

/** Strict: a request of another version may mean something that this one would leave out. */
const shardRequest = z.strictObject({
  prefix: z.string().max(1024).endsWith('/'),
  after: name.nullable(),
  last: name.nullable(),
  objectsExpected: count.nullable(),
  lookFor: z.array(name).max(lookForMax),
  recentSinceMs: z.int().nullable(),
  recentMax: count,
  concurrency: z.int().min(1).max(512),
  timeLimitMs: z.int().min(1),
  // For the log alone.
  correlationId: z.string().refine(isCorrelationId).optional().catch(undefined),
});

export type DecodedShardRequest = z.output<typeof shardRequest>;

/** @returns undefined if the event is no request to scan a shard. */
export function decodeShardRequest(event: unknown): DecodedShardRequest | undefined {
  return shardRequest.safeParse(event).data;
}
