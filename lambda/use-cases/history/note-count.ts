import type { Deps } from '../../deps.ts';
import type { TenantRecord } from '../../domain/tenant.ts';

/**
 * Notes what a reconcile has committed as the value of the day. It is written though nothing may have changed: so a write
 * that was lost is made up for by the next recount. Nobody depends on it, so it never fails.
 *
 * @param input.before the tenant as the reconcile found it.
 * @param input.after the tenant as it was committed.
 */
export async function noteCount(
  { history, clock, log, metrics }: Pick<Deps, 'history' | 'clock' | 'log' | 'metrics'>,
  { before, after, epoch }: { before: TenantRecord; after: TenantRecord; epoch: number },
): Promise<'noted' | 'older' | 'unknown'> {
  const { tenant, counted, closedAtMs } = after;
  // The history of a tenant that is being deleted goes with it.
  if (counted === null || closedAtMs !== null) return 'unknown';
  const { storedBytes, objectCount } = counted;
  const highestBytes = Math.max(storedBytes, before.counted?.storedBytes ?? 0);
  try {
    return await history.note({ tenant, atMs: clock.nowMs(), epoch, storedBytes, objectCount, highestBytes });
  } catch (error) {
    log.warn('history not noted', { tenant, error });
    metrics.increment('HistoryNotNoted');
    return 'unknown';
  }
}
