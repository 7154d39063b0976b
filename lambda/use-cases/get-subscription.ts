import type { RepoRecord, TenantRecord } from '../domain/tenant.ts';
import { StoreUnavailableError } from '../ports/object-store.ts';
import { awaitOtherReconcile } from './await-reconcile.ts';
import { collect } from './collect.ts';
import type { Deps } from './deps.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';

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
 * answered in time gets the last known value with its age, and the scan goes on through the queue.
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
    deps.metrics.count('CacheHits');
    return { tenant, repos, source: 'cache', refreshing: false };
  }
  if (tooOld) deps.metrics.count('CacheMisses');

  const fresh = await countNow(deps, tenant);
  if (!fresh) {
    await deps.queue.request({ tenant: tenant.tenant, reason: 'miss', full: true });
    return { tenant, repos, source: 'cache', refreshing: true };
  }
  return { tenant: fresh, repos: await readRepos(deps, tenant.tenant), source: 'scan', refreshing: false };
}

/** All repos of a tenant. */
export function readRepos(deps: Pick<Deps, 'ledger'>, tenant: string): Promise<RepoRecord[]> {
  return collect(deps.ledger.repos(tenant));
}

/** The tenant after a count that began or ended now; undefined where none was done in time. */
async function countNow(deps: SubscriptionDeps, tenant: TenantRecord): Promise<TenantRecord | undefined> {
  const deadlineMs = deps.clock.nowMs() + deps.settings.scanWaitMs;
  try {
    const outcome = await reconcile(deps, {
      tenant: tenant.tenant,
      full: true,
      someoneWaits: true,
      deadlineMs,
    });
    if (outcome.kind === 'committed') return outcome.tenant;
    return outcome.kind === 'busy'
      ? await awaitOtherReconcile(deps, { before: tenant, deadlineMs })
      : undefined;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    deps.log.warn('the store did not answer; the last known usage stays', { tenant: tenant.tenant });
    return undefined;
  }
}
