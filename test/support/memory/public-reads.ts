import type { PublicRead } from '../../../lambda/domain/public-read.ts';
import type { RepoPath } from '../../../lambda/ports/ledger.ts';
import type { PublicReads } from '../../../lambda/ports/public-reads.ts';

const keyOf = ({ tenant, repo }: RepoPath) => `${tenant}/${repo}`;

/** Public repos in memory, for tests. */
export class MemoryPublicReads implements PublicReads {
  readonly #reads = new Map<string, PublicRead>();

  async find(path: RepoPath) {
    return this.#reads.get(keyOf(path));
  }

  async list(tenant: string) {
    return [...this.#reads]
      .filter(([key]) => key.startsWith(`${tenant}/`))
      .map(([, publicRead]) => publicRead)
      .sort((a, b) => (a.repo < b.repo ? -1 : 1));
  }

  async put({ tenant, publicRead }: { tenant: string; publicRead: PublicRead }) {
    this.#reads.set(keyOf({ tenant, repo: publicRead.repo }), publicRead);
  }

  async end(path: RepoPath) {
    const before = this.#reads.get(keyOf(path));
    this.#reads.delete(keyOf(path));
    return before;
  }
}
