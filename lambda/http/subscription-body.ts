import type { RepoRecord, TenantRecord } from '../domain/tenant.ts';
import type { Subscription } from '../use-cases/get-subscription.ts';

const iso = (timeMs: number) => new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** Usage as the API shows it; null where it was never counted, which is not zero. */
export function usageBody(tenant: TenantRecord, source: 'cache' | 'scan') {
  if (tenant.counted === null) return null;
  const { storedBytes, objectCount, countedAtMs } = tenant.counted;
  return {
    storedBytes,
    objectCount,
    // What may still arrive, as an upper bound.
    reservedBytes: Math.max(0, tenant.committedBytes - storedBytes),
    committedBytes: tenant.committedBytes,
    countedAt: iso(countedAtMs),
    source,
  };
}

export function reposBody(repos: readonly RepoRecord[]) {
  return (
    repos
      // A repo is a path: with nothing below it there is none.
      .filter((repo) => repo.epoch > 0 && repo.objectCount > 0)
      .map(({ repo, storedBytes, objectCount, countedAtMs, closedAtMs }) => ({
        repo,
        storedBytes,
        objectCount,
        countedAt: iso(countedAtMs),
        ...(closedAtMs !== null && { deleting: true }),
      }))
  );
}

/** GET …/subscription. */
export function subscriptionBody(subscription: Subscription) {
  const { tenant, repos, source, refreshing } = subscription;
  return {
    tenant: tenant.tenant,
    plan: tenant.plan,
    limitBytes: tenant.limitBytes,
    usage: usageBody(tenant, source),
    repos: reposBody(repos),
    refreshing,
  };
}

/** A tenant in the management API. */
export function tenantBody(tenant: TenantRecord) {
  return {
    tenant: tenant.tenant,
    plan: tenant.plan,
    limitBytes: tenant.limitBytes,
    createdAt: iso(tenant.createdAtMs),
    usage: usageBody(tenant, 'cache'),
  };
}

export function tokenBody(token: {
  tokenId: string;
  scope: string;
  label: string | null;
  createdAtMs: number;
}) {
  return {
    tokenId: token.tokenId,
    scope: token.scope,
    label: token.label,
    createdAt: iso(token.createdAtMs),
  };
}
