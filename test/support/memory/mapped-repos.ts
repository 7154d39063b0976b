import type { MappedRepo } from '../../../lambda/domain/git-host.ts';
import type { MappedRepos } from '../../../lambda/ports/git-hosts.ts';
import type { RepoPath } from '../../../lambda/ports/ledger.ts';

const keyOf = ({ tenant, repo }: RepoPath) => `${tenant}/${repo}`;

/** Mapped repos in memory, for tests. */
export class MemoryMappedRepos implements MappedRepos {
  readonly #mapped = new Map<string, MappedRepo>();

  async find(path: RepoPath) {
    return this.#mapped.get(keyOf(path));
  }

  async list(tenant: string) {
    return [...this.#mapped]
      .filter(([key]) => key.startsWith(`${tenant}/`))
      .map(([, mapped]) => mapped)
      .sort((a, b) => (a.repo < b.repo ? -1 : 1));
  }

  async put({ tenant, mapped }: { tenant: string; mapped: MappedRepo }) {
    this.#mapped.set(keyOf({ tenant, repo: mapped.repo }), mapped);
  }

  async pin({ sinceMs, hostedId, ...path }: RepoPath & { sinceMs: number; hostedId: string }) {
    const mapped = this.#mapped.get(keyOf(path));
    if (mapped?.sinceMs !== sinceMs || mapped.hostedId !== null) return mapped;
    const pinned = { ...mapped, hostedId };
    this.#mapped.set(keyOf(path), pinned);
    return pinned;
  }

  async end(path: RepoPath) {
    const before = this.#mapped.get(keyOf(path));
    this.#mapped.delete(keyOf(path));
    return before;
  }
}
