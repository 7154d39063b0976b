import type { PublicRead } from '../domain/public-read.ts';
import type { RepoPath } from './ledger.ts';

/**
 * Which repos anybody may download from. Away from the counter's partition and from the repos' items: strangers read it
 * for whatever names they like. All reads are strongly consistent.
 */
export interface PublicReads {
  /** One read of one item, whether or not there is such a repo, or tenant. @throws {LedgerUnavailableError} */
  find(path: RepoPath): Promise<PublicRead | undefined>;
  /** Those of a tenant, by name. @throws {LedgerUnavailableError} */
  list(tenant: string): Promise<readonly PublicRead[]>;
  /** Replaces what was decided before. A write that lands late changes nothing. @throws {LedgerUnavailableError} */
  put(input: { tenant: string; publicRead: PublicRead }): Promise<void>;
  /**
   * Ends it. A write from before that lands late does not bring it back.
   *
   * @returns what there was. undefined: it was not public.
   * @throws {LedgerUnavailableError}
   */
  end(input: RepoPath & { atMs: number }): Promise<PublicRead | undefined>;
}
