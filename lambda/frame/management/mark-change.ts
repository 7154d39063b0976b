import type { PreparedMark } from '../access/repos.ts';
import type { Refusal } from '../api/http.ts';
import { problem, repoNotFound } from '../api/problems.ts';
import type { PreparedChange, RepoChange } from './seams.ts';

/** What is noted of a change of a mark, and said if there is no room for it. */
interface MarkWords<M> {
  /** Of the body. */
  readonly field: string;
  readonly shown: (mark: M) => object;
  readonly full: () => Refusal;
}

/** The change of a mark: what of it may be written, or why not. */
export function markChange<M>(
  prepared: PreparedMark<M>,
  input: Pick<RepoChange, 'tenant' | 'repo' | 'trail'>,
  { field, shown, full }: MarkWords<M>,
): PreparedChange {
  const { tenant, repo, trail } = input;
  const noted = (mark: M | undefined) => ({ [field]: mark ? shown(mark) : null });
  switch (prepared.kind) {
    case 'ready': {
      const write = async () => {
        await prepared.write();
        trail.was(noted(prepared.before));
        trail.became(noted(prepared.after));
      };
      return { write };
    }
    case 'no-repo':
      return { refusal: repoNotFound(tenant.tenant) };
    case 'repo-closed':
      return { refusal: repoClosed(`${tenant.tenant}/${repo}`) };
    case 'full':
      return { refusal: full() };
  }
}

export function repoClosed(name: string): Refusal {
  return problem('repo-closed', `The repo ${name} is being deleted. You can reuse its name once it's empty.`);
}
