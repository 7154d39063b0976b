import type { Deps } from '../../deps.ts';
import { recountWaitMs, type Urgency } from '../../domain/recount-policy.ts';
import type { TenantRecord } from '../../domain/tenant.ts';

/**
 * How long the policy (`lambda/domain/recount-policy.ts`) defers a recount. A recount that is deferred is measured
 * and logged.
 *
 * @returns milliseconds from now; 0 if the recount may begin.
 */
export function recountDelayMs(
  deps: Pick<Deps, 'clock' | 'log' | 'metrics' | 'settings'>,
  input: { tenant: TenantRecord; urgency: Urgency },
): number {
  const waitMs = recountWaitMs(deps.settings, { ...input, nowMs: deps.clock.nowMs() });
  if (waitMs > 0) {
    deps.metrics.increment('RecountsDeferred');
    deps.log.info('recount deferred', { tenant: input.tenant.tenant, urgency: input.urgency, waitMs });
  }
  return waitMs;
}
