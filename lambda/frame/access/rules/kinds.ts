import { isOfFiles, type RepoPath, type RepoRecord } from '../../../core/ledger/rules/tenant.ts';

/** What a repo is for. It never changes. */
type RepoKind = 'lfs' | 'files';

/** What to use instead of what a repo of each kind is wrongly asked for. */
const instead = {
  lfs: "is a repo for Git LFS. Files need one of kind files: create it first, because a repo's kind never changes.",
  files: "is a repo of kind files, which Git LFS can't use. Use its files API, or another repo.",
} as const satisfies Readonly<Record<RepoKind, string>>;

/**
 * Why a repo is the wrong one for whoever needs the other kind: an upload URL of Git LFS would replace a file.
 *
 * @param repo undefined: there is no record of it, so it's for Git LFS. @returns undefined: it's of this kind.
 */
export function wrongKind(
  repo: Pick<RepoRecord, 'kind'> | undefined,
  { needed, ...path }: RepoPath & { needed: RepoKind },
): string | undefined {
  const kind = isOfFiles(repo) ? 'files' : 'lfs';
  return kind === needed ? undefined : `${path.tenant}/${path.repo} ${instead[kind]}`;
}
