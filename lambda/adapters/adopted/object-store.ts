import type { AdoptedRepos } from '../../domain/adopted-repos.ts';
import type { ObjectStore, StoredObject, StoreUnavailableError } from '../../ports/object-store.ts';

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

  async delete(
    keys: readonly string[],
    options: { deadlineMs: number },
  ): Promise<ReadonlyMap<string, StoreUnavailableError>> {
    const byStored = new Map<string, string>();
    for (const key of keys) {
      const storedKey = this.#repos.storedKey(key);
      if (storedKey !== undefined) byStored.set(storedKey, key);
    }
    if (byStored.size === 0) return new Map();
    const failed = await this.#inner.delete([...byStored.keys()], options);
    return new Map([...failed].map(([storedKey, error]) => [byStored.get(storedKey) ?? storedKey, error]));
  }
}
