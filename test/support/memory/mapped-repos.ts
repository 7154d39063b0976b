import type { MappedRepo } from '../../../lambda/domain/git-host.ts';
import type { MappedRepos } from '../../../lambda/ports/git-hosts.ts';
import type { RepoPath } from '../../../lambda/ports/ledger.ts';
import { keyOf, MemoryRepoMarks } from './repo-marks.ts';

/** Mapped repos in memory, for tests. */
export class MemoryMappedRepos extends MemoryRepoMarks<MappedRepo> implements MappedRepos {
  async pin({ sinceMs, hostedId, ...path }: RepoPath & { sinceMs: number; hostedId: string }) {
    const mapped = this.marks.get(keyOf(path));
    if (mapped?.sinceMs !== sinceMs || mapped.hostedId !== null) return mapped;
    const pinned = { ...mapped, hostedId };
    this.marks.set(keyOf(path), pinned);
    return pinned;
  }
}
