import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { PreparedMark } from '../../frame/access/repos.ts';
import type { Refusal } from '../../frame/api/http.ts';
import { problem, repoNotFound } from '../../frame/api/problems.ts';
import { repoClosed } from '../../frame/management/repos.ts';
import type { PreparedChange, RepoChange } from '../../frame/management/seams.ts';

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
    case 'wrong-kind':
      return { refusal: problem('wrong-kind', prepared.detail) };
    case 'full':
      return { refusal: full() };
  }
}

/** What a part needs to find a repo, and to mark it. */
export type MarkDeps = Pick<CoreDeps, 'ledger' | 'listing' | 'clock'>;
