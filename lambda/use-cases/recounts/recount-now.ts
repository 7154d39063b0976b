import type { TenantRecord } from '../../domain/tenant.ts';
import { pageKeysMax } from '../../scan/rules/key-space.ts';
import { StoreUnavailableError } from '../../store/rules/store.ts';
import { awaitOtherReconcile } from './await-reconcile.ts';
import { type ReconcileDeps, type ReconcileInput, type ReconcileOutcome, reconcile } from './reconcile.ts';
import { recountDelayMs } from './recount-delay.ts';

/**
 * Claims that a reconcile reads while somebody waits, at most: a second or so of reading. For a tenant with more, the
 * queue's reconcile reads them, and the next request finds its numbers.
 */
const inlineClaimsMax = 50_000;

export type RecountNowOutcome =
  /** Our own reconcile committed. */
  | Extract<ReconcileOutcome, { kind: 'committed' }>
  /** Another reconcile was running, and committed. What it saw is not known here. */
  | { readonly kind: 'committed-by-other'; readonly tenant: TenantRecord }
  /** There is no new count. A recount may begin in `waitMs` (0: now). */
  | { readonly kind: 'unknown'; readonly waitMs: number };

export interface RecountNowInput extends Omit<ReconcileInput, 'tenant' | 'isAwaited'> {
  /** The tenant as read last. */
  readonly before: TenantRecord;
  readonly deadlineMs: number;
  /** Do not begin if the last count suggests that more LIST requests than this are needed. Default: no limit. */
  readonly requestsMax?: number;
}

/**
 * Recounts a tenant while somebody waits: reconciles, or waits for the reconcile that is running, so that one
 * scan answers everybody who asks at the same time. It waits for a running reconcile even if the policy defers a
 * new one, because the requests of the running one are paid for.
 *
 * If the store does not answer, the last count stays, and the outcome is `unknown`.
 *
 * @throws {LedgerUnavailableError}
 */
export async function recountNow(deps: ReconcileDeps, input: RecountNowInput): Promise<RecountNowOutcome> {
  const { before, requestsMax, ...how } = input;
  const { tenant } = before;
  const waitMs = recountDelayMs(deps, { tenant: before, urgency: 'decision' });
  const unknown = { kind: 'unknown', waitMs } as const;
  if (waitMs > 0 && before.leaseUntilMs <= deps.clock.nowMs()) return unknown;
  if (before.claimCount > inlineClaimsMax) return unknown;
  const listedObjects = before.listedObjectCount ?? before.counted?.objectCount ?? 0;
  const expectedRequests = Math.ceil(listedObjects / pageKeysMax);
  if (requestsMax !== undefined && expectedRequests > requestsMax) return unknown;
  try {
    const outcome =
      waitMs > 0 ? ({ kind: 'busy' } as const) : await reconcile(deps, { ...how, tenant, isAwaited: true });
    // A tenant with a giant that is being counted for the first time may still be unknown.
    if (outcome.kind === 'committed') return outcome.tenant.counted ? outcome : unknown;
    if (outcome.kind !== 'busy') return unknown;
    const after = await awaitOtherReconcile(deps, { before, deadlineMs: input.deadlineMs });
    return after?.counted ? { kind: 'committed-by-other', tenant: after } : unknown;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    deps.log.warn('the store did not answer; the last known usage stays', { tenant });
    return unknown;
  }
}
