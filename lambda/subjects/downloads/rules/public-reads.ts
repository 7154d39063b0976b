import * as z from 'zod';

export const publicReadSchema = z.object({
  monthlyLimitBytes: z.number().nullable(),
  sinceMs: z.number(),
});

/** Whom a download is metered for that needs no token. It looks like no token's id. */
export const publicTokenId = 'public';

/** Public repos of a tenant. They are read all at once. */
export const publicReposMax = 1000;

/**
 * Bytes that an object counts to the ceiling at least, also one that is not stored: to look for it costs about as much as
 * so much transfer, and strangers may ask for anything.
 */
export const publicObjectBytesMin = 4096;

/** What objects count to the ceiling. @param objects oid → bytes. */
export function publicBytesOf(objects: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const sizeBytes of objects.values()) sum += Math.max(sizeBytes, publicObjectBytesMin);
  return sum;
}
