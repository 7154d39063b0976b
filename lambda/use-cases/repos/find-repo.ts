import { repoPrefix } from '../../domain/names.ts';
import { isThere, type RepoRecord, type TenantRecord, unknownRepo } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';

/**
 * A repo that is there, is being deleted, or has objects that no count has found yet. undefined: there is none.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function findRepo(
  { ledger, listing }: Pick<Deps, 'ledger' | 'listing'>,
  { tenant, repo }: { tenant: TenantRecord; repo: string },
): Promise<RepoRecord | undefined> {
  const path = { tenant: tenant.tenant, repo };
  const record = await ledger.readRepo(path);
  if (record && (record.closedAtMs !== null || isThere(record) || tenant.repoLimits.has(repo))) return record;
  const page = await listing.listPage({ prefix: repoPrefix(path), maxKeys: 1 });
  return page.keyCount > 0 ? (record ?? unknownRepo(repo)) : undefined;
}
