import type { FileLock } from '../domain/lock.ts';
import type { RepoPath } from './ledger.ts';

export type TakeOutcome =
  | { readonly kind: 'taken' }
  /** Somebody has locked that path, perhaps the same owner. */
  | { readonly kind: 'held'; readonly lock: FileLock }
  /** The repo has as many locks as it can have. */
  | { readonly kind: 'full' };

export type ReleaseOutcome =
  | { readonly kind: 'released'; readonly lock: FileLock }
  | { readonly kind: 'of-another'; readonly lock: FileLock }
  /** There is none with that id, or not any more. */
  | { readonly kind: 'absent' };

export interface LockPage {
  /** By the hashes of their paths. */
  readonly locks: readonly FileLock[];
  /** The hash after which the next page begins. null: this is the last page. */
  readonly next: string | null;
}

/** The file locks of tenants. Reads are strongly consistent, and every method throws {@link LedgerUnavailableError}. */
export interface Locks {
  /** Locks a path. Of many who try at the same time one succeeds, and the others are told who has it. */
  take(input: RepoPath & { lock: FileLock }): Promise<TakeOutcome>;
  /** Whether a tenant has as many locks as this, in all of its repos. */
  hasAtLeast(input: { tenant: string; count: number }): Promise<boolean>;
  /** @param input.hash of a path. */
  find(input: RepoPath & { hash: string }): Promise<FileLock | undefined>;
  /**
   * Releases the lock with this id, and no later one of the same path.
   *
   * @param input.ownerId who must own it. Without it: whoever does.
   */
  release(input: RepoPath & { lockId: string; ownerId?: string }): Promise<ReleaseOutcome>;
  /**
   * @param input.after a path's hash. Default: from the first on.
   * @param input.ownerIds only the locks of these owners.
   */
  listPage(
    input: RepoPath & { pageSize: number; after?: string; ownerIds?: readonly string[] },
  ): Promise<LockPage>;
  /**
   * Releases locks of a repo, or of a whole tenant, whoever owns them.
   *
   * @param input.locksMax releases no more than this.
   * @returns how many were released, and whether others are left.
   */
  releaseSome(input: {
    tenant: string;
    repo?: string;
    ownerIds?: readonly string[];
    locksMax: number;
  }): Promise<{ count: number; hasMore: boolean }>;
}
