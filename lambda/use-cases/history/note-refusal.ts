import type { TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';

/**
 * Notes that something of a batch was refused. Nobody waits for it, and it never fails: the request is on its way together
 * with what the batch writes anyway.
 *
 * @param tenant as the batch knows it.
 */
export async function noteRefusal(
  deps: Pick<Deps, 'history' | 'refusalTally' | 'clock' | 'log'>,
  { tenant, counted }: Pick<TenantRecord, 'tenant' | 'counted'>,
): Promise<void> {
  const { history, refusalTally, clock, log } = deps;
  // Of a tenant that was never counted there is nothing to note.
  if (counted === null) return;
  const atMs = clock.nowMs();
  const count = refusalTally.add(tenant, atMs);
  if (count === 0) return;
  const { storedBytes, objectCount } = counted;
  try {
    await history.addRefusals({ tenant, atMs, count, storedBytes, objectCount });
  } catch (error) {
    refusalTally.giveBack(tenant, count, atMs);
    log.warn('refusal not noted', { tenant, error });
  }
}
