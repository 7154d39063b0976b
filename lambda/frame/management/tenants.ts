import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { Subscription } from '../../core/ledger/get-subscription.ts';
import { isGone, isOnHold, type TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { tell } from '../../core/ledger/seams.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { StoreRefusedError } from '../../core/store/rules/store.ts';
import type { AccessPorts } from '../access/ports.ts';
import { createTenant, createTenantOnce, lostTenants, updateTenant } from '../access/tenants.ts';
import { json, receivedAtMs } from '../api/http.ts';
import { problem, tenantNotFound } from '../api/problems.ts';
import { deletingMark, encodeCursor, iso, pageSizeDefault } from '../contract/fields.ts';
import { type SubscriptionBody, type TenantBody, tenantContract } from '../contract/tenants.ts';
import { operationsFor, requestKeyReused } from './operations.ts';
import { lacksStorageClass, type RepoContext, reposBody, storageClassMark } from './repos.ts';
import type { Fields } from './seams.ts';

type Needs = Pick<CoreDeps, 'listing' | 'storageClasses' | 'queue' | 'ids'> &
  Pick<AccessPorts, 'requestKeys'> &
  Pick<CoreDeps, 'listeners'> &
  Pick<FilePorts, 'adoptedRepos'>;

export const tenantOperations = operationsFor<Needs>()(tenantContract, {
  /**
   * By name, a page at a time. Only the names of deleted tenants are kept, and they are not shown: a page may be
   * shorter than asked for without being the last.
   */
  'GET /v1/tenants': async (deps, { query: { limit = pageSizeDefault, cursor } }) => {
    const tenants = await deps.ledger.listTenants({
      pageSize: limit,
      ...(cursor && { after: cursor }),
    });
    const last = tenants.length === limit ? tenants.at(-1) : undefined;
    const nextCursor = last ? encodeCursor(last.tenant) : null;
    return json(200, { tenants: tenants.filter((tenant) => !isGone(tenant)).map(tenantBody), nextCursor });
  },

  'POST /v1/tenants': async (deps, { body, requestKey, trail }) => {
    const { tenant, limitBytes = null, plan = null, uploadsFrom } = body;
    const held = uploadsFrom !== undefined && { uploadsFromMs: Date.parse(uploadsFrom) };
    const account = { tenant, limitBytes, plan, ...held };
    const outcome =
      requestKey === undefined
        ? await createTenant(deps, account)
        : await createTenantOnce(deps, { account, requestKey });
    switch (outcome.kind) {
      case 'created':
        trail.became({ plan, limitBytes });
        return json(201, tenantBody(outcome.tenant), { location: `/v1/tenants/${tenant}` });
      case 'exists':
        return problem('tenant-exists', `The tenant ${tenant} already exists.`);
      case 'deleted':
        return problem(
          'tenant-name-taken',
          `The name ${tenant} belonged to a deleted tenant, and can't be reused.`,
        );
      case 'reserved':
        return problem(
          'tenant-name-reserved',
          `The name ${tenant} is reserved: the bucket has objects of an adopted repo below ${tenant}/.`,
        );
      case 'key-reused':
        return requestKeyReused();
    }
  },

  'GET /v1/lost-tenants': async (deps, { query: { cursor } }) => {
    const found = await lostTenants(deps, cursor).catch((error) => {
      // The first page has no token that the store could refuse.
      if (cursor !== undefined && error instanceof StoreRefusedError) return undefined;
      throw error;
    });
    if (!found) return problem('invalid-query', 'cursor: must be the nextCursor of the previous page.');
    const { tenants, nextToken } = found;
    return json(200, { tenants, nextCursor: nextToken === undefined ? null : encodeCursor(nextToken) });
  },

  'GET /v1/tenants/{tenant}': async (_deps, { tenant }) => json(200, tenantBody(tenant)),

  'PATCH /v1/tenants/{tenant}': async (deps, { tenant: read, body, event, trail }) => {
    const lacking = lacksStorageClass(deps, body.storageClass);
    if (lacking) return lacking;
    // A sentence is of one suspension.
    const change = { ...(body.suspended !== undefined && { suspendedMessage: null }), ...body };
    const outcome = await updateTenant(deps, { tenant: read, beganMs: receivedAtMs(event), change });
    if (outcome.kind === 'absent') return tenantNotFound();
    const changed = Object.keys(change) as (keyof typeof change)[];
    const of = (record: TenantRecord) => Object.fromEntries(changed.map((name) => [name, record[name]]));
    trail.was(of(outcome.before));
    trail.became(of(outcome.tenant));
    if (outcome.tenant.limitBytes !== outcome.before.limitBytes) await tell(deps, 'limited', outcome.tenant);
    return json(200, tenantBody(outcome.tenant));
  },
});

/** Repos of one answer. */
export const shownReposMax = 1000;

/** null: never counted, which is not zero. */
function usageBody(tenant: TenantRecord, source: 'cache' | 'scan'): TenantBody['usage'] {
  if (tenant.scanned === null) return null;
  const { storedBytes, objectCount, scannedAtMs } = tenant.scanned;
  const reservedBytes = Math.max(0, tenant.committedBytes - storedBytes);
  return {
    storedBytes,
    objectCount,
    // What may still arrive, as an upper bound.
    reservedBytes,
    reservedUntil: reservedBytes > 0 && tenant.reservedUntilMs !== null ? iso(tenant.reservedUntilMs) : null,
    committedBytes: tenant.committedBytes,
    scannedAt: iso(scannedAtMs),
    ...(tenant.oldBytes !== undefined && {
      olderThanYear: { bytes: tenant.oldBytes, at: iso(tenant.fullScannedAtMs) },
    }),
    source,
  };
}

const settingsBody = (record: TenantRecord) => {
  const { tenant, plan, limitBytes, downloadLimitBytes, reposMustExist, suspended, suspendedMessage } =
    record;
  return {
    tenant,
    plan,
    limitBytes,
    downloadLimitBytes,
    reposMustExist,
    ...storageClassMark(record),
    ...(suspended && { suspended, ...(suspendedMessage !== null && { suspendedMessage }) }),
  };
};

function tenantBody(tenant: TenantRecord): TenantBody {
  return {
    ...settingsBody(tenant),
    createdAt: iso(tenant.createdAtMs),
    usage: usageBody(tenant, 'cache'),
    ...(isOnHold(tenant) && { uploadsFrom: iso(tenant.uploadsFromMs ?? 0) }),
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

/** @param said what subjects say of the tenant, and of each repo. */
export function subscriptionBody(
  { tenant, repos, source, refreshing }: Subscription,
  said: { readonly ofTenant: Fields; readonly ofRepo: RepoContext['of']; readonly today: string },
): SubscriptionBody {
  return {
    ...settingsBody(tenant),
    usage: usageBody(tenant, source),
    ...said.ofTenant,
    ...largestRepos(reposBody(repos, { ...tenant, today: said.today, of: said.ofRepo })),
    refreshing,
    ...deletingMark(tenant.closedAtMs),
  };
}
