import type { RepoMark } from '../domain/repo-mark.ts';
import type { RepoPath } from './ledger.ts';

/**
 * What is decided of repos, of one kind. Away from the counter's partition and from the items of tenants and repos:
 * strangers read it for whatever names they like. All reads are strongly consistent.
 */
export interface RepoMarks<M extends RepoMark> {
  /** One read of one item, whether or not there is such a repo, or tenant. @throws {LedgerUnavailableError} */
  find(path: RepoPath): Promise<M | undefined>;
  /** Those of a tenant, by name. @throws {LedgerUnavailableError} */
  list(tenant: string): Promise<readonly M[]>;
  /** Replaces what was decided before. A write that lands late changes nothing. @throws {LedgerUnavailableError} */
  put(input: { tenant: string; mark: M }): Promise<void>;
  /**
   * Ends it. A write from before that lands late does not bring it back.
   *
   * @returns what there was. undefined: nothing was decided.
   * @throws {LedgerUnavailableError}
   */
  end(input: RepoPath & { atMs: number }): Promise<M | undefined>;
}
