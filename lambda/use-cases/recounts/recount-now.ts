import { pageKeysMax } from '../../domain/scan/page-size.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { awaitOtherReconcile } from './await-reconcile.ts';
import { type ReconcileDeps, type ReconcileInput, type ReconcileOutcome, reconcile } from './reconcile.ts';
import { recountDelayMs } from './recount-delay.ts';

export type RecountNowOutcome =
  /** Our own reconcile committed. */
  | Extract<ReconcileOutcome, { kind: 'committed' }>
  /** Another's reconcile was running, and committed. It says less than our own: not what it saw. */
  | { readonly kind: 'committed-by-other'; readonly tenant: TenantRecord }
  /** Nothing is known yet. A recount may begin in `waitMs`; 0: at any time. */
  | { readonly kind: 'unknown'; readonly waitMs: number };

export interface RecountNowInput extends Omit<ReconcileInput, 'tenant' | 'isAwaited'> {
  /** The tenant as it was read last. */
  readonly before: TenantRecord;
  readonly deadlineMs: number;
  /** Do not begin when more LIST requests than this are to be expected. Unlimited when left out. */
  readonly requestsMax?: number;
}

/**
 * Recounts a tenant while somebody waits: reconciles, or waits for the reconcile that is running, so that one
 * scan answers all who ask at once. A running reconcile is waited for even when the policy defers a new one:
 * its requests are paid for.
 *
 * A store that does not answer proves nothing: the last count stays, and the outcome is `unknown`.
 *
 * @throws {LedgerUnavailableError}
 */
export async function recountNow(deps: ReconcileDeps, input: RecountNowInput): Promise<RecountNowOutcome> {
  const { before, requestsMax, ...how } = input;
  const { tenant } = before;
  const waitMs = recountDelayMs(deps, { tenant: before, urgency: 'decision' });
  const unknown = { kind: 'unknown', waitMs } as const;
  if (waitMs > 0 && before.leaseUntilMs <= deps.clock.nowMs()) return unknown;
  const expectedRequests = Math.ceil((before.counted?.objectCount ?? 0) / pageKeysMax);
  if (requestsMax !== undefined && expectedRequests > requestsMax) return unknown;
  try {
    const outcome =
      waitMs > 0 ? ({ kind: 'busy' } as const) : await reconcile(deps, { ...how, tenant, isAwaited: true });
    if (outcome.kind === 'committed') return outcome;
    if (outcome.kind !== 'busy') return unknown;
    const after = await awaitOtherReconcile(deps, { before, deadlineMs: input.deadlineMs });
    return after ? { kind: 'committed-by-other', tenant: after } : unknown;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    deps.log.warn('the store did not answer; the last known usage stays', { tenant });
    return unknown;
  }
}
