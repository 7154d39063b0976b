import type { Deps } from '../../deps.ts';
import type { TenantRecord } from '../../domain/tenant.ts';

const firstPollMs = 100;
/** Pauses grow up to this, so that a few hundred batches that wait do not keep the tenant's item from its writers. */
const longestPollMs = 1000;

/**
 * Waits for the reconcile that holds the lease, so that one scan answers everybody who asks at the same time.
 *
 * @param input.before the tenant as read while the other reconcile held the lease.
 * @returns the tenant after that reconcile's commit. undefined if it gave up or the deadline passed first.
 * @throws {LedgerUnavailableError}
 */
export async function awaitOtherReconcile(
  deps: Pick<Deps, 'ledger' | 'clock'>,
  input: { before: TenantRecord; deadlineMs: number },
): Promise<TenantRecord | undefined> {
  const { ledger, clock } = deps;
  let pauseMs = firstPollMs;
  while (clock.nowMs() + pauseMs < input.deadlineMs) {
    await clock.sleep(pauseMs);
    pauseMs = Math.min(1.5 * pauseMs, longestPollMs);
    const now = await ledger.readTenant(input.before.tenant);
    if (!now) return undefined;
    if (now.appliedEpoch > input.before.appliedEpoch) return now;
    if (now.leaseUntilMs <= clock.nowMs()) return undefined;
  }
  return undefined;
}
