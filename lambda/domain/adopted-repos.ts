import { type AdoptedRepo, isTakenBy } from './adopted-repo.ts';
import { compareKeys } from './key-order.ts';
import { isOid, repoPrefix, tenantPrefix } from './names.ts';
import { oidOfStoredName, storedNameOf } from './stored-names.ts';

/** A key of somebody else would lie where the objects of an adopted repo lie. */
export class AdoptedPathError extends Error {
  override readonly name = 'AdoptedPathError';
}

/**
 * The adopted repos of a stage, and which key in the bucket, the stored key, each key of `{tenant}/{repo}/{oid}` stands
 * for. Of an adopted repo they differ; every other key is stored as it is.
 *
 * What lies in the bucket at an adopted repo's own path, `{tenant}/{repo}/`, is hidden. So is what lies in its adopted path
 * without a name of its layout.
 */
export class AdoptedRepos {
  /** In the order of their keys. */
  readonly all: readonly AdoptedRepo[];

  /** @param repos without conflicts. */
  constructor(repos: readonly AdoptedRepo[]) {
    this.all = [...repos].sort((a, b) => compareKeys(repoPrefix(a), repoPrefix(b)));
  }

  /** Whether the keys of a tenant of this name would lie in an adopted path. So there must be none. */
  isReserved(tenant: string): boolean {
    return this.all.some((repo) => isTakenBy(repo, tenant));
  }

  /** The adopted repos of a tenant. */
  of(tenant: string): readonly AdoptedRepo[] {
    return this.below(tenantPrefix(tenant));
  }

  /** The adopted repo to which all keys with this prefix belong. */
  at(prefix: string): AdoptedRepo | undefined {
    return this.all.find((repo) => prefix.startsWith(repoPrefix(repo)));
  }

  /** The adopted repos of which all keys begin with this prefix, in the order of their keys. */
  below(prefix: string): readonly AdoptedRepo[] {
    return this.all.filter((repo) => repoPrefix(repo).startsWith(prefix));
  }

  /**
   * Under which key something is stored.
   *
   * @returns undefined if nothing can be stored at the key, because an adopted repo has only objects.
   * @throws {AdoptedPathError}
   */
  storedKey(key: string): string | undefined {
    const repo = this.at(key);
    if (!repo) {
      this.requireOwn(key);
      return key;
    }
    const oid = key.slice(repoPrefix(repo).length);
    return isOid(oid) ? repo.path + storedNameOf(repo.names, oid) : undefined;
  }

  /** The key of what is stored under one. undefined: it is nobody's, or hidden. */
  keyOf(storedKey: string): string | undefined {
    for (const repo of this.all) {
      const key = keyIn(repo, storedKey);
      if (key !== undefined) return key;
    }
    return this.#isInAdoptedPath(storedKey) || this.at(storedKey) ? undefined : storedKey;
  }

  /**
   * Every key and prefix that is sent to the store as it is must pass here: that of a tenant, or of the service.
   *
   * @throws {AdoptedPathError} if it reaches into an adopted path.
   */
  requireOwn(keyOrPrefix: string): void {
    if (!keyOrPrefix.includes('/') || this.#isInAdoptedPath(keyOrPrefix))
      throw new AdoptedPathError(
        `What begins with ${keyOrPrefix.slice(0, keyOrPrefix.indexOf('/') + 1) || 'no folder'} may be of an adopted ` +
          'repo. No tenant may have that name (setting adoptedRepos).',
      );
  }

  #isInAdoptedPath(key: string): boolean {
    const [folder = '', ...below] = key.split('/');
    return below.length > 0 && this.isReserved(folder);
  }
}

/** The key of an adopted repo's object, by the key under which it is stored. undefined: there is none of it. */
export function keyIn(repo: AdoptedRepo, storedKey: string): string | undefined {
  if (!storedKey.startsWith(repo.path)) return undefined;
  const oid = oidOfStoredName(repo.names, storedKey.slice(repo.path.length));
  return oid === undefined ? undefined : repoPrefix(repo) + oid;
}
