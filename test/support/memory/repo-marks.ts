import type { RepoMark } from '../../../lambda/domain/repo-mark.ts';
import type { RepoPath } from '../../../lambda/ports/ledger.ts';
import type { RepoMarks } from '../../../lambda/ports/repo-marks.ts';

export const keyOf = ({ tenant, repo }: RepoPath) => `${tenant}/${repo}`;

/** What is decided of repos, in memory, for tests. */
export class MemoryRepoMarks<M extends RepoMark> implements RepoMarks<M> {
  protected readonly marks = new Map<string, M>();

  async find(path: RepoPath) {
    return this.marks.get(keyOf(path));
  }

  async list(tenant: string) {
    return [...this.marks]
      .filter(([key]) => key.startsWith(`${tenant}/`))
      .map(([, mark]) => mark)
      .sort((a, b) => (a.repo < b.repo ? -1 : 1));
  }

  async put({ tenant, mark }: { tenant: string; mark: M }) {
    this.marks.set(keyOf({ tenant, repo: mark.repo }), mark);
  }

  async end(path: RepoPath) {
    const before = this.marks.get(keyOf(path));
    this.marks.delete(keyOf(path));
    return before;
  }
}
