import { pageKeysMax, StoreUnavailableError } from '../store/rules/store.ts';
import type { CoreDeps } from './core-deps.ts';
import { type ReconcileDeps, type ReconcileInput, type ReconcileOutcome, reconcile } from './reconcile.ts';
import { requestOrLog } from './reconcile-requests.ts';
import { listsAtOnceMax, reconcileWaitMs, type Urgency } from './rules/reconcile-policy.ts';
import type { TenantRecord } from './rules/tenant.ts';

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
  deps: Pick<CoreDeps, 'ledger' | 'clock'>,
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

/**
 * How long the policy (`lambda/core/ledger/rules/reconcile-policy.ts`) defers a reconcile. A reconcile that is deferred is measured
 * and logged.
 *
 * @returns milliseconds from now; 0 if the reconcile may begin.
 */
export function reconcileDelayMs(
  deps: Pick<CoreDeps, 'clock' | 'log' | 'metrics' | 'settings'>,
  input: { tenant: TenantRecord; urgency: Urgency },
): number {
  const waitMs = reconcileWaitMs(deps.settings, { ...input, nowMs: deps.clock.nowMs() });
  if (waitMs > 0) {
    deps.metrics.increment('ReconcilesDeferred');
    deps.log.info('reconcile deferred', { tenant: input.tenant.tenant, urgency: input.urgency, waitMs });
  }
  return waitMs;
}

/**
 * Claims that a reconcile reads while somebody waits, at most: a second or so of reading. For a tenant with more, the
 * queue's reconcile reads them, and the next request finds its numbers.
 */
const inlineEntriesMax = 50_000;

export type ReconcileNowOutcome =
  /** Our own reconcile committed. */
  | Extract<ReconcileOutcome, { kind: 'committed' }>
  /** Another reconcile was running, and committed. What it saw is not known here. */
  | { readonly kind: 'committed-by-other'; readonly tenant: TenantRecord }
  /** There is no new count. A reconcile may begin in `waitMs` (0: now). */
  | { readonly kind: 'unknown'; readonly waitMs: number };

export interface ReconcileNowInput extends Omit<ReconcileInput, 'tenant' | 'isAwaited' | 'listsMax'> {
  /** The tenant as read last. */
  readonly before: TenantRecord;
  readonly deadlineMs: number;
}

/**
 * Reconciles a tenant while somebody waits: reconciles, or waits for the reconcile that is running, so that one
 * scan answers everybody who asks at the same time. It waits for a running reconcile even if the policy defers a
 * new one, because the requests of the running one are paid for.
 *
 * It begins none, and ends its own, if that takes more LIST requests than may be made at once. The queue counts then.
 *
 * It scans no shards of large repos. If some are due, it asks the queue for that: whoever looks again and again puts off what the
 * schedule would ask for.
 *
 * If the store does not answer, the last count stays, and the outcome is `unknown`.
 *
 * @throws {LedgerUnavailableError}
 */
export async function reconcileNow(
  deps: ReconcileDeps & Pick<CoreDeps, 'queue'>,
  input: ReconcileNowInput,
): Promise<ReconcileNowOutcome> {
  const { before, ...how } = input;
  const { tenant } = before;
  const nowMs = deps.clock.nowMs();
  const waitMs = reconcileDelayMs(deps, { tenant: before, urgency: 'decision' });
  const unknown = { kind: 'unknown', waitMs } as const;
  if (before.entryCount > inlineEntriesMax) return unknown;
  const listsMax = listsAtOnceMax(deps.settings, { ...before, nowMs });
  const listedObjects = before.listedObjectCount ?? before.scanned?.objectCount ?? 0;
  const mayBegin = Math.max(1, Math.ceil(listedObjects / pageKeysMax)) <= listsMax;
  if (!mayBegin && before.leaseUntilMs <= nowMs) return unknown;
  try {
    const outcome = mayBegin
      ? await reconcile(deps, { ...how, tenant, isAwaited: true, listsMax })
      : ({ kind: 'busy' } as const);
    if (outcome.kind === 'committed') {
      if (outcome.shardsDueAtMs !== null && outcome.shardsDueAtMs <= deps.clock.nowMs())
        await requestOrLog(deps, { tenant, reason: 'unfinished', full: false });
      // A tenant with a large repo that is being counted for the first time may still be unknown.
      return outcome.tenant.scanned ? outcome : unknown;
    }
    if (outcome.kind !== 'busy') return unknown;
    const after = await awaitOtherReconcile(deps, { before, deadlineMs: input.deadlineMs });
    return after?.scanned ? { kind: 'committed-by-other', tenant: after } : unknown;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    deps.log.warn('the store did not answer; the last known usage stays', { tenant });
    return unknown;
  }
}
