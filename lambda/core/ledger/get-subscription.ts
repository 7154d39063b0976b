import { allPages } from '../rules/async.ts';
import type { CoreDeps } from './core-deps.ts';
import type { ReconcileDeps } from './reconcile.ts';
import { reconcileNow } from './reconcile-now.ts';
import type { RepoRecord, TenantRecord } from './rules/tenant.ts';

export type SubscriptionDeps = ReconcileDeps & Pick<CoreDeps, 'queue'>;

/** A tenant's limit and usage, as the console shows it. */
export interface Subscription {
  readonly tenant: TenantRecord;
  readonly repos: readonly RepoRecord[];
  readonly source: 'cache' | 'scan';
  /** A reconcile is queued whose result is not in this answer. */
  readonly refreshing: boolean;
}

/**
 * Reads the cache. On a miss, reconciles first: the tenant was never counted, its count is too old, or a refresh was
 * asked for. If many requests miss at once, one reconcile answers all of them.
 *
 * If there is no new count within the setting `scanWaitMs`, or the tenant's budget of LIST requests is used up, the
 * answer is the last known usage with its age, and a reconcile is queued.
 *
 * @param input.cached what was read in one round trip with the access check.
 * @throws {LedgerUnavailableError}
 */
export async function getSubscription(
  deps: SubscriptionDeps,
  input: { cached: { tenant: TenantRecord; repos: readonly RepoRecord[] }; refresh: boolean },
): Promise<Subscription> {
  const { tenant, repos } = input.cached;
  const { clock, settings } = deps;
  const isTooOld = tenant.scanned === null || clock.nowMs() - tenant.scanned.scannedAtMs > settings.maxAgeMs;
  if (!isTooOld && !input.refresh) {
    deps.metrics.increment('CacheHits');
    return { tenant, repos, source: 'cache', refreshing: false };
  }
  if (isTooOld) deps.metrics.increment('CacheMisses');

  const fresh = await scanNow(deps, tenant);
  if (!fresh) {
    await deps.queue.request({ tenant: tenant.tenant, reason: 'miss', full: true });
    return { tenant, repos, source: 'cache', refreshing: true };
  }
  return { ...fresh, source: 'scan', refreshing: false };
}

/** The tenant after our own reconcile or one that was running. undefined if neither committed in time. */
async function scanNow(
  deps: SubscriptionDeps,
  before: TenantRecord,
): Promise<{ tenant: TenantRecord; repos: readonly RepoRecord[] } | undefined> {
  const deadlineMs = deps.clock.nowMs() + deps.settings.scanWaitMs;
  const outcome = await reconcileNow(deps, { before, full: true, deadlineMs });
  switch (outcome.kind) {
    case 'committed':
      return outcome;
    case 'committed-by-other':
      return { tenant: outcome.tenant, repos: await allPages(deps.ledger.repos(before.tenant)) };
    case 'unknown':
      return undefined;
  }
}
