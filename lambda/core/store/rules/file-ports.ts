import type { AdoptedRepos } from './adopted-repos.ts';
import type { ArchiveStore } from './archive-store.ts';

/**
 * Whether a store keeps the promise that a limit of files rests on: a URL that was signed with `onlyNew` never replaces an object,
 * and be it one of 0 bytes that is put while the URL's own PUT is under way.
 */
export type OnlyNewProof =
  /**
   * `unmarked`: it keeps the promise, and no metadata, so nothing tells an empty object from a file without bytes. `waits`: an empty
   * object isn't put before an upload of its name has ended, so whoever uploads can keep it from being canceled.
   */
  | { readonly kind: 'holds' | 'unmarked' | 'waits' }
  /**
   * `rejects`: it takes no such upload. `replaces`: it ignores the condition. `replaces-late`: it checks the condition as a PUT begins,
   * and not as it ends. With the status that it answered with.
   */
  | { readonly kind: 'rejects' | 'replaces' | 'replaces-late'; readonly status: number };

/** Files of the service in the store, and which repos lie elsewhere in the bucket. */
export interface FilePorts {
  readonly archives: ArchiveStore;
  /** Which repos lie elsewhere in the bucket. What sends keys to the store knows of it by itself. */
  readonly adoptedRepos: AdoptedRepos;
  /**
   * Tries the store, which takes 2 s, unless this process knows already that it holds.
   *
   * @throws {StoreUnavailableError} @throws {StoreRefusedError}
   */
  proveOnlyNew(): Promise<OnlyNewProof>;
}
