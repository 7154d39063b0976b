import { isMapped, type MappedRepo, mappedReposMax } from '../../domain/git-host.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';
import { findRepo } from './find-repo.ts';

export type MapRepoOutcome =
  | {
      readonly kind: 'changed';
      /** undefined: not mapped. */
      readonly before: MappedRepo | undefined;
      readonly after: MappedRepo | undefined;
    }
  /** There is no such repo. */
  | { readonly kind: 'no-repo' }
  /** It is being deleted. */
  | { readonly kind: 'repo-closed' }
  /** The tenant has as many mapped repos as it may have. */
  | { readonly kind: 'full' };

/**
 * Maps a repo to a repository of a host, or ends that. What people were let in by before is worth nothing from then on.
 *
 * @param input.to null: nobody comes by a host.
 * @throws {LedgerUnavailableError | StoreUnavailableError}
 */
export async function mapRepo(
  deps: Pick<Deps, 'mappedRepos' | 'ledger' | 'listing' | 'clock'>,
  input: { tenant: TenantRecord; repo: string; to: Pick<MappedRepo, 'host' | 'name' | 'hostedId'> | null },
): Promise<MapRepoOutcome> {
  const { mappedRepos, ledger, clock } = deps;
  const { tenant, repo, to } = input;
  const path = { tenant: tenant.tenant, repo };
  // Before it is read whether the repo is open: a delete that closes it from now on ends this too, if it lands after it.
  const sinceMs = clock.nowMs();
  const [record, found] = await Promise.all([ledger.readRepo(path), mappedRepos.find(path)]);
  const before = found && isMapped(found, record) ? found : undefined;
  if (to === null) {
    if (found) await mappedRepos.end({ ...path, atMs: sinceMs });
    return record || found ? { kind: 'changed', before, after: undefined } : { kind: 'no-repo' };
  }
  if (record && record.closedAtMs !== null) return { kind: 'repo-closed' };
  if (!before && !(await findRepo(deps, { tenant, repo }))) return { kind: 'no-repo' };
  if (!before && (await mappedRepos.list(tenant.tenant)).length >= mappedReposMax) return { kind: 'full' };
  // Also if nothing else changes: the repository's number is learned anew.
  const after: MappedRepo = { repo, ...to, sinceMs: Math.max(sinceMs, (found?.sinceMs ?? 0) + 1) };
  await mappedRepos.put({ tenant: tenant.tenant, mapped: after });
  return { kind: 'changed', before, after };
}
