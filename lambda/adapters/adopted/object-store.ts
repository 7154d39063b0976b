import type { AdoptedRepos } from '../../domain/adopted-repos.ts';
import type { ObjectStore, StoredObject } from '../../ports/object-store.ts';

/** A bucket in which some repos are adopted. */
export class AdoptedObjectStore implements ObjectStore {
  readonly #inner: ObjectStore;
  readonly #repos: AdoptedRepos;

  constructor(inner: ObjectStore, repos: AdoptedRepos) {
    this.#inner = inner;
    this.#repos = repos;
  }

  async head(key: string): Promise<StoredObject | undefined> {
    const storedKey = this.#repos.storedKey(key);
    return storedKey === undefined ? undefined : this.#inner.head(storedKey);
  }

  async delete(key: string, options: { deadlineMs: number }): Promise<void> {
    const storedKey = this.#repos.storedKey(key);
    if (storedKey !== undefined) await this.#inner.delete(storedKey, options);
  }
}
