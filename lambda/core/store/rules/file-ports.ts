import type { AdoptedRepos } from './adopted-repos.ts';
import type { ArchiveStore } from './archive-store.ts';

/** Files of the service in the store, and which repos lie elsewhere in the bucket. */
export interface FilePorts {
  readonly archives: ArchiveStore;
  /** Which repos lie elsewhere in the bucket. What sends keys to the store knows of it by itself. */
  readonly adoptedRepos: AdoptedRepos;
}
