import { managementDeps } from '../compose.ts';
import { respondProblem } from '../http/management/access.ts';
import { deleteObject, deleteRepoOperation, deleteTenantOperation } from '../http/management/deletes.ts';
import type { ManagementDeps, Operation } from '../http/management/operation.ts';
import { listRepos, requestRecount } from '../http/management/repos.ts';
import { createTenantOperation, listTenants, showTenant, updateTenant } from '../http/management/tenants.ts';
import { createTokenOperation, listTokens, revokeToken } from '../http/management/tokens.ts';
import { problem } from '../http/respond.ts';
import type { RouteKey } from '../routes.ts';
import { deployed } from '../runtime/deployed.ts';
import { guard, type HttpHandler } from '../runtime/guard.ts';
import { warmUpTable } from '../runtime/warm-up.ts';
import type { Deps } from '../use-cases/deps.ts';

/** The type makes the compiler check that each route has its operation. */
const operations: Readonly<Record<RouteKey<'management'>, Operation>> = {
  'GET /v1/tenants': listTenants,
  'POST /v1/tenants': createTenantOperation,
  'GET /v1/tenants/{tenant}': showTenant,
  'PATCH /v1/tenants/{tenant}': updateTenant,
  'DELETE /v1/tenants/{tenant}': deleteTenantOperation,
  'GET /v1/tenants/{tenant}/tokens': listTokens,
  'POST /v1/tenants/{tenant}/tokens': createTokenOperation,
  'DELETE /v1/tenants/{tenant}/tokens/{tokenId}': revokeToken,
  'GET /v1/tenants/{tenant}/repos': listRepos,
  'DELETE /v1/tenants/{tenant}/repos/{repo}': deleteRepoOperation,
  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': deleteObject,
  'POST /v1/tenants/{tenant}/reconcile': requestRecount,
};

const byRouteKey: ReadonlyMap<string, Operation> = new Map(Object.entries(operations));

/** The operator's API. One function for all of it: it is asked rarely, and never in a hurry. */
export function create(deps: ManagementDeps & Pick<Deps, 'invocations'>): HttpHandler {
  return guard(deps, respondProblem, async (event) => {
    const operation = byRouteKey.get(event.routeKey);
    return operation ? operation(deps, event) : problem(404, 'Not Found', 'There is no such route.');
  });
}

export const handler = await deployed(create, managementDeps, warmUpTable);
