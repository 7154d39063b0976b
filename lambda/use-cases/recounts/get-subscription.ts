import type { RepoRecord, TenantRecord } from '../../domain/tenant.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { collect } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { awaitOtherReconcile } from './await-reconcile.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';
import { putOffMs } from './recount-delay.ts';

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
    deps.metrics.count('CacheHits');
    return { tenant, repos, source: 'cache', refreshing: false };
  }
  if (tooOld) deps.metrics.count('CacheMisses');

  const fresh = await countNow(deps, tenant);
  if (!fresh) {
    await deps.queue.request({ tenant: tenant.tenant, reason: 'miss', full: true });
    return { tenant, repos, source: 'cache', refreshing: true };
  }
  return { ...fresh, source: 'scan', refreshing: false };
}

/** All repos of a tenant. */
export function readRepos(deps: Pick<Deps, 'ledger'>, tenant: string): Promise<RepoRecord[]> {
  return collect(deps.ledger.repos(tenant));
}

/** The tenant after a count that began or ended now; undefined where none was done in time. */
async function countNow(
  deps: SubscriptionDeps,
  before: TenantRecord,
): Promise<{ tenant: TenantRecord; repos: readonly RepoRecord[] } | undefined> {
  const { tenant } = before;
  const deadlineMs = deps.clock.nowMs() + deps.settings.scanWaitMs;
  const isPutOff = putOffMs(deps, { tenant: before, urgency: 'decision' }) > 0;
  // A count that is running is waited for all the same: it is paid for.
  if (isPutOff && before.leaseUntilMs <= deps.clock.nowMs()) return undefined;
  try {
    const outcome = isPutOff
      ? ({ kind: 'busy' } as const)
      : await reconcile(deps, { tenant, full: true, someoneWaits: true, deadlineMs });
    if (outcome.kind === 'committed') return outcome;
    const after =
      outcome.kind === 'busy' ? await awaitOtherReconcile(deps, { before, deadlineMs }) : undefined;
    return after && { tenant: after, repos: await readRepos(deps, tenant) };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    deps.log.warn('the store did not answer; the last known usage stays', { tenant });
    return undefined;
  }
}
