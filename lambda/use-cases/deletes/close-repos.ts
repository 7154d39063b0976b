import type { Deps } from '../../deps.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { allPages, mapLimited } from '../../rules/async.ts';
import { listTenant } from '../../scan/find-stored.ts';

const closesAtOnce = 16;

/**
 * Closes every repo that a closed tenant still has or may get: those that the bucket lists, even if the ledger
 * does not know them, and those that the ledger has objects or reservations of. An open tenant is left alone.
 *
 * @param input.untilMs no others are begun after this.
 * @returns false if the time was up first.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function closeReposOfClosedTenant(
  deps: Pick<Deps, 'ledger' | 'listing' | 'clock'>,
  { account, untilMs }: { account: TenantRecord; untilMs: number },
): Promise<boolean> {
  const { ledger, clock } = deps;
  const { tenant, closedAtMs } = account;
  if (closedAtMs === null) return true;
  const { folders, rootObjects } = await listTenant(deps, { tenant });
  const names = new Set(folders);
  if (rootObjects.objectCount > 0) names.add('');
  for await (const page of ledger.reservations(tenant)) for (const { repo } of page) names.add(repo);
  const records = await allPages(ledger.repos(tenant));
  for (const { repo, objectCount } of records) if (objectCount > 0) names.add(repo);
  for (const record of records) if (record.closedAtMs !== null) names.delete(record.repo);
  let isDone = true;
  await mapLimited([...names], closesAtOnce, async (repo) => {
    if (clock.nowMs() > untilMs) isDone = false;
    else await ledger.closeRepo({ tenant, repo, closedAtMs, isForGood: true });
  });
  return isDone;
}
