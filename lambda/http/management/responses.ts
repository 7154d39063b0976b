import type { RepoRecord, TenantRecord } from '../../domain/tenant.ts';
import type { DeletePlan } from '../../use-cases/deletes/delete-objects.ts';
import type { Subscription } from '../../use-cases/recounts/get-subscription.ts';

const iso = (timeMs: number) => new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** Usage as the API shows it; null where it was never counted, which is not zero. */
function usageBody(tenant: TenantRecord, source: 'cache' | 'scan') {
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

/** Repos with something in them, and those that are being deleted until they are open again. */
export function reposBody(repos: readonly RepoRecord[]) {
  return (
    repos
      // A repo is a path: with nothing below it there is none.
      .filter((repo) => repo.closedAtMs !== null || (repo.epoch > 0 && repo.objectCount > 0))
      .map(({ repo, epoch, storedBytes, objectCount, countedAtMs, closedAtMs }) => ({
        repo,
        // Deleted before it was ever counted: unknown, which is not zero.
        storedBytes: epoch > 0 ? storedBytes : null,
        objectCount: epoch > 0 ? objectCount : null,
        countedAt: epoch > 0 ? iso(countedAtMs) : null,
        ...deletingMark(closedAtMs),
      }))
  );
}

const deletingMark = (closedAtMs: number | null) => (closedAtMs === null ? {} : { deleting: true });

/** What a delete frees, for a whole tenant, one of its repos, or one object. */
export function deletePlanBody(path: { tenant: string; repo?: string; oid?: string }, plan: DeletePlan) {
  return { ...path, objectCount: plan.objectCount, bytes: plan.bytes, dueAt: iso(plan.dueAtMs) };
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
    ...deletingMark(tenant.closedAtMs),
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
    ...deletingMark(tenant.closedAtMs),
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
