import type { Deps } from '../deps.ts';

/**
 * Queues a recount of each tenant that is due. The recount is full if the tenant's last full count is too old. If it
 * is due only because a reservation died, a deletion is due or a repo is closed, the recount covers what may have
 * changed. Those due longest come first. Tenants beyond the setting `refreshTenantsMax`, or that the queue did not
 * accept, stay due for the next run.
 *
 * @returns how many were queued.
 * @throws {LedgerUnavailableError} or the error of the queue.
 */
export async function refresh(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'metrics' | 'settings'>,
): Promise<number> {
  const { ledger, queue, clock, settings } = deps;
  const due = await ledger.dueTenants({ nowMs: clock.nowMs(), tenantsMax: settings.refreshTenantsMax });
  await queue.requestAll(due.map((tenant) => ({ ...tenant, reason: 'schedule' })));
  deps.metrics.increment('TenantsQueued', due.length);
  return due.length;
}
