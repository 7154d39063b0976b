/** What one function asks of another, as plain JSON: to scan one shard. It only reads, so it may be asked twice. */
export interface ShardRequest {
  /** Of all keys: `{tenant}/{repo}/`. */
  readonly prefix: string;
  /** The names of the shard: after `after`, up to and including `last`. null: to the end. */
  readonly after: string | null;
  readonly last: string | null;
  /** Objects below the prefix, to plan the scan. null: nothing is known. */
  readonly objectsExpected: number | null;
  /** Names to look for. */
  readonly lookFor: readonly string[];
  /** Report the names that were stored at this time or later, by the store's clock. null: none. */
  readonly recentSinceMs: number | null;
  readonly recentMax: number;
  /** LIST requests at a time. */
  readonly concurrency: number;
  /** How long the scan may take. A duration: the clocks of two functions differ. */
  readonly timeLimitMs: number;
  /** What the log lines of the scan name as their cause. */
  readonly correlationId?: string | undefined;
}

/** What the other function answers. */
export type ShardAnswer =
  | {
      readonly kind: 'done';
      readonly storedBytes: number;
      readonly objectCount: number;
      readonly seen: readonly (readonly [name: string, sizeBytes: number])[];
      readonly recent: readonly string[] | 'too many';
      readonly requests: number;
    }
  /** Its time was up. Nothing of it is used. */
  | { readonly kind: 'unfinished'; readonly requests: number }
  /** The store did not answer, or does not list as S3 does. */
  | { readonly kind: 'store unavailable'; readonly message: string };
