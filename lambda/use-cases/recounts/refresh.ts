import type { Deps } from '../deps.ts';

/**
 * Queues a recount of the tenants that are due: in full where the last full count is too old, otherwise of what
 * a reservation that died or a delete may have changed. The longest due come first; what
 * is beyond one run, or was not taken by the queue, stays due and waits for the next.
 *
 * @returns how many were queued.
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
