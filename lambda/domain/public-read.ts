import type { RepoRecord } from './tenant.ts';

/** That anybody may download from a repo, without a token, and how much of it. */
export interface PublicRead {
  readonly repo: string;
  /** The ceiling: bytes that may be offered to anybody in a month (UTC), all together. null: unlimited. */
  readonly monthlyLimitBytes: number | null;
  /** When this was decided last. */
  readonly sinceMs: number;
}

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

/**
 * Whether it is in force. A delete of the repo ends it, also if what ends it is lost or lands late: what is opened
 * again under its name was never made public.
 *
 * @param repo undefined: the ledger does not know it yet.
 */
export function isPublic(
  { sinceMs }: PublicRead,
  repo: Pick<RepoRecord, 'closedAtMs' | 'endedClosingMs'> | undefined,
): boolean {
  if (repo === undefined) return true;
  return repo.closedAtMs === null && sinceMs > (repo.endedClosingMs ?? 0);
}
