import { deletingMark, iso } from '../../../api/contract/fields.ts';
import { forecastBody } from '../../../api/management/history.ts';
import type { Forecast } from '../../../domain/forecast.ts';
import type { PublicRead } from '../../../domain/public-read.ts';
import type { TenantRecord } from '../../../domain/tenant.ts';
import type { Subscription } from '../../../use-cases/recounts/get-subscription.ts';
import { reposBody } from '../repos/bodies.ts';
import type { SubscriptionBody, TenantBody } from './schemas.ts';

/** Repos of one answer. */
export const shownReposMax = 1000;

/** null: never counted, which is not zero. */
function usageBody(tenant: TenantRecord, source: 'cache' | 'scan'): TenantBody['usage'] {
  if (tenant.counted === null) return null;
  const { storedBytes, objectCount, countedAtMs } = tenant.counted;
  const reservedBytes = Math.max(0, tenant.committedBytes - storedBytes);
  return {
    storedBytes,
    objectCount,
    // What may still arrive, as an upper bound.
    reservedBytes,
    reservedUntil: reservedBytes > 0 && tenant.reservedUntilMs !== null ? iso(tenant.reservedUntilMs) : null,
    committedBytes: tenant.committedBytes,
    countedAt: iso(countedAtMs),
    source,
  };
}

export function tenantBody(tenant: TenantRecord): TenantBody {
  return {
    tenant: tenant.tenant,
    plan: tenant.plan,
    limitBytes: tenant.limitBytes,
    downloadLimitBytes: tenant.downloadLimitBytes,
    reposMustExist: tenant.reposMustExist,
    createdAt: iso(tenant.createdAtMs),
    usage: usageBody(tenant, 'cache'),
    ...deletingMark(tenant.closedAtMs),
  };
}

/** All of them, or the largest in the order of names: more might not fit into what Lambda returns. */
function largestRepos(repos: SubscriptionBody['repos']): Pick<SubscriptionBody, 'repos' | 'reposTruncated'> {
  if (repos.length <= shownReposMax) return { repos };
  const bySize = [...repos].sort((a, b) => (b.storedBytes ?? 0) - (a.storedBytes ?? 0));
  const largest = new Set(bySize.slice(0, shownReposMax));
  return { repos: repos.filter((repo) => largest.has(repo)), reposTruncated: true };
}

export function subscriptionBody(
  subscription: Subscription & { readonly publicReads: readonly PublicRead[] },
  more: { forecast: Forecast; lastRefusals: SubscriptionBody['lastRefusals']; today: string },
): SubscriptionBody {
  const { tenant, repos, publicReads, source, refreshing } = subscription;
  const { forecast, lastRefusals, today } = more;
  const shown = reposBody(repos, { ...tenant, today, publicReads });
  return {
    tenant: tenant.tenant,
    plan: tenant.plan,
    limitBytes: tenant.limitBytes,
    downloadLimitBytes: tenant.downloadLimitBytes,
    reposMustExist: tenant.reposMustExist,
    usage: usageBody(tenant, source),
    forecast: forecastBody(forecast),
    lastRefusals,
    ...largestRepos(shown),
    refreshing,
    ...deletingMark(tenant.closedAtMs),
  };
}
