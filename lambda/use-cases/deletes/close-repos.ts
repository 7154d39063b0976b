import type { TenantRecord } from '../../domain/tenant.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { listTenant } from '../list-tenant.ts';

/**
 * Closes every repo that a closed tenant still has or may get: those that the bucket lists, even if the ledger
 * does not know them, and those that the ledger has objects or reservations of. An open tenant is left alone.
 */
export async function closeReposOfClosedTenant(
  deps: Pick<Deps, 'ledger' | 'listing'>,
  { tenant, closedAtMs }: TenantRecord,
): Promise<void> {
  if (closedAtMs === null) return;
  const { folders, rootObjects } = await listTenant(deps, { tenant });
  const names = new Set(folders);
  if (rootObjects.objectCount > 0) names.add('');
  for await (const page of deps.ledger.reservations(tenant)) for (const { repo } of page) names.add(repo);
  const records = await allPages(deps.ledger.repos(tenant));
  for (const { repo, objectCount } of records) if (objectCount > 0) names.add(repo);
  const closed = new Set(records.filter((record) => record.closedAtMs !== null).map(({ repo }) => repo));
  for (const repo of names) {
    if (!closed.has(repo)) await deps.ledger.closeRepo({ tenant, repo, closedAtMs, isForGood: true });
  }
}
