import * as z from 'zod';
import type { Frozen } from '../../../core/rules/stored.ts';
import type { RepoMark } from '../../../frame/access/rules/repo-mark.ts';

/** That anybody may download from a repo, without a token, and how much of it. */
export const publicReadSchema = z.object({
  /** The ceiling: bytes that may be offered to anybody in a month (UTC), all together. null: unlimited. */
  monthlyLimitBytes: z.number().nullable(),
  sinceMs: z.number(),
});
export type PublicRead = RepoMark & Frozen<z.output<typeof publicReadSchema>>;

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
