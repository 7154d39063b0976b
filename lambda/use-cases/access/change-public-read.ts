import { repoPrefix } from '../../domain/names.ts';
import { isPublic, type PublicRead, publicReposMax } from '../../domain/public-read.ts';
import { isThere, type RepoRecord } from '../../domain/tenant.ts';
import type { RepoPath } from '../../ports/ledger.ts';
import type { Deps } from '../deps.ts';

export type ChangePublicReadOutcome =
  | {
      readonly kind: 'changed';
      /** undefined: the ledger does not know it yet. */
      readonly repo: RepoRecord | undefined;
      /** undefined: not public. */
      readonly before: PublicRead | undefined;
      readonly after: PublicRead | undefined;
    }
  /** Nothing was ever stored in it. */
  | { readonly kind: 'no-repo' }
  /** It is being deleted. */
  | { readonly kind: 'repo-closed' }
  /** The tenant has as many public repos as it may have. */
  | { readonly kind: 'full' };

/**
 * Lets anybody download from a repo, without a token, up to a ceiling; or ends that.
 *
 * @param input.publicRead null: only those who have a token.
 * @throws {LedgerUnavailableError | StoreUnavailableError}
 */
export async function changePublicRead(
  deps: Pick<Deps, 'publicReads' | 'ledger' | 'listing' | 'clock'>,
  input: RepoPath & { publicRead: Pick<PublicRead, 'monthlyLimitBytes'> | null },
): Promise<ChangePublicReadOutcome> {
  const { publicReads, ledger, clock } = deps;
  const { tenant, repo, publicRead } = input;
  const path = { tenant, repo };
  // Before it is read whether the repo is open: a delete that closes it from now on ends this too, if it lands after it.
  const sinceMs = clock.nowMs();
  const [record, found] = await Promise.all([ledger.readRepo(path), publicReads.find(path)]);
  const before = found && isPublic(found, record) ? found : undefined;
  if (publicRead === null) {
    if (found) await publicReads.end({ ...path, atMs: sinceMs });
    return record || found
      ? { kind: 'changed', repo: record, before, after: undefined }
      : { kind: 'no-repo' };
  }
  if (record && record.closedAtMs !== null) return { kind: 'repo-closed' };
  if (!before && !(await hasObjects(deps, path, record))) return { kind: 'no-repo' };
  if (!before && (await publicReads.list(tenant)).length >= publicReposMax) return { kind: 'full' };
  const { monthlyLimitBytes } = publicRead;
  const after: PublicRead = { repo, monthlyLimitBytes, sinceMs };
  await publicReads.put({ tenant, publicRead: after });
  return { kind: 'changed', repo: record, before, after };
}

/** A name that was mistyped must not become public before there is anything. */
async function hasObjects(
  { listing }: Pick<Deps, 'listing'>,
  path: RepoPath,
  record: RepoRecord | undefined,
): Promise<boolean> {
  if (record && isThere(record)) return true;
  const page = await listing.listPage({ prefix: repoPrefix(path), maxKeys: 1 });
  return page.keyCount > 0;
}
