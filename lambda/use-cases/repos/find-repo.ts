import type { Deps } from '../../deps.ts';
import { isThere, type RepoRecord, type TenantRecord, unknownRepo } from '../../domain/tenant.ts';
import { repoPrefix } from '../../rules/names.ts';
import { hasKeys } from '../../store/rules/store.ts';

/**
 * A repo that is there, has a limit, is being deleted, or has objects that no count has found yet. undefined: there is none.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function findRepo(
  deps: Pick<Deps, 'ledger' | 'listing'>,
  { tenant, repo }: { tenant: TenantRecord; repo: string },
): Promise<RepoRecord | undefined> {
  const record = await deps.ledger.readRepo({ tenant: tenant.tenant, repo });
  return (await isFound(deps, { tenant, repo, record })) ? (record ?? unknownRepo(repo)) : undefined;
}

/**
 * Whether {@link findRepo} finds a repo. The store is asked only if the ledger does not tell.
 *
 * @param input.record as it was read just now. undefined: the ledger does not know it.
 * @throws {StoreUnavailableError}
 */
export async function isFound(
  { listing }: Pick<Deps, 'listing'>,
  input: { tenant: TenantRecord; repo: string; record: RepoRecord | undefined },
): Promise<boolean> {
  const { tenant, repo, record } = input;
  if (record && (record.closedAtMs !== null || isThere(record) || tenant.repoLimits.has(repo))) return true;
  return hasKeys(listing, repoPrefix({ tenant: tenant.tenant, repo }));
}
