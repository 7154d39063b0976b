import type { RepoRecord, TenantRecord } from '../../domain/tenant.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import type { ReconcileDeps } from './reconcile.ts';
import { recountNow } from './recount-now.ts';

export type SubscriptionDeps = ReconcileDeps & Pick<Deps, 'queue'>;

/** A tenant's limit and usage, as the console shows it. */
export interface Subscription {
  readonly tenant: TenantRecord;
  readonly repos: readonly RepoRecord[];
  readonly source: 'cache' | 'scan';
  /** A count is under way that this answer did not wait for. */
  readonly refreshing: boolean;
}

/**
 * Reads the cache; on a miss (never counted, counted longer ago than the largest age, or a refresh is asked
 * for), counts first. Of many who miss at once one scans and the others get its answer; whoever can't be
 * answered in time, or has used up the tenant's budget of LIST requests, gets the last known value with its age,
 * and the scan goes on through the queue.
 *
 * @param input.cached what was read when the request was authenticated, in that one round trip.
 */
export async function getSubscription(
  deps: SubscriptionDeps,
  input: { cached: { tenant: TenantRecord; repos: readonly RepoRecord[] }; refresh: boolean },
): Promise<Subscription> {
  const { tenant, repos } = input.cached;
  const { clock, settings } = deps;
  const tooOld = tenant.counted === null || clock.nowMs() - tenant.counted.countedAtMs > settings.maxAgeMs;
  if (!tooOld && !input.refresh) {
    deps.metrics.increment('CacheHits');
    return { tenant, repos, source: 'cache', refreshing: false };
  }
  if (tooOld) deps.metrics.increment('CacheMisses');

  const fresh = await countNow(deps, tenant);
  if (!fresh) {
    await deps.queue.request({ tenant: tenant.tenant, reason: 'miss', full: true });
    return { tenant, repos, source: 'cache', refreshing: true };
  }
  return { ...fresh, source: 'scan', refreshing: false };
}

/** All repos of a tenant. */
export function readRepos(deps: Pick<Deps, 'ledger'>, tenant: string): Promise<RepoRecord[]> {
  return allPages(deps.ledger.repos(tenant));
}

/** The tenant after a recount that began or ended now; undefined when none was done in time. */
async function countNow(
  deps: SubscriptionDeps,
  before: TenantRecord,
): Promise<{ tenant: TenantRecord; repos: readonly RepoRecord[] } | undefined> {
  const deadlineMs = deps.clock.nowMs() + deps.settings.scanWaitMs;
  const outcome = await recountNow(deps, { before, full: true, deadlineMs });
  switch (outcome.kind) {
    case 'committed':
      return outcome;
    case 'committed-by-other':
      return { tenant: outcome.tenant, repos: await readRepos(deps, before.tenant) };
    case 'unknown':
      return undefined;
  }
}
