import { managementDeps } from '../compose.ts';
import { changeCount, listCounts } from '../http/management/counts.ts';
import { deleteObject, deleteRepo, deleteTenant } from '../http/management/deletes.ts';
import { deleteExport, listExports, showExport, startExport } from '../http/management/exports.ts';
import { listObjects } from '../http/management/objects.ts';
import type { ManagementDeps, Operation } from '../http/management/operation.ts';
import { listRepos, requestRecount, showRepo } from '../http/management/repos.ts';
import { listReservations } from '../http/management/reservations.ts';
import { createTenant, listTenants, showTenant, updateTenant } from '../http/management/tenants.ts';
import { createToken, listTokens, revokeToken, showToken } from '../http/management/tokens.ts';
import { problem, respondProblem } from '../http/problems.ts';
import type { RouteKey } from '../routes.ts';
import { deployed } from '../runtime/deployed.ts';
import { guard, type HttpHandler } from '../runtime/guard.ts';
import { warmUpTable } from '../runtime/warm-up.ts';
import type { Deps } from '../use-cases/deps.ts';

/** The type makes the compiler check that each route has its operation. */
const operations: Readonly<Record<RouteKey<'management'>, Operation>> = {
  'GET /v1/tenants': listTenants,
  'POST /v1/tenants': createTenant,
  'GET /v1/tenants/{tenant}': showTenant,
  'PATCH /v1/tenants/{tenant}': updateTenant,
  'DELETE /v1/tenants/{tenant}': deleteTenant,
  'GET /v1/tenants/{tenant}/tokens': listTokens,
  'POST /v1/tenants/{tenant}/tokens': createToken,
  'GET /v1/tenants/{tenant}/tokens/{tokenId}': showToken,
  'DELETE /v1/tenants/{tenant}/tokens/{tokenId}': revokeToken,
  'GET /v1/tenants/{tenant}/reservations': listReservations,
  'GET /v1/tenants/{tenant}/objects': listObjects,
  'GET /v1/tenants/{tenant}/repos': listRepos,
  'GET /v1/tenants/{tenant}/repos/{repo}': showRepo,
  'DELETE /v1/tenants/{tenant}/repos/{repo}': deleteRepo,
  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': deleteObject,
  'POST /v1/tenants/{tenant}/reconcile': requestRecount,
  'GET /v1/tenants/{tenant}/exports': listExports,
  'POST /v1/tenants/{tenant}/exports': startExport,
  'GET /v1/tenants/{tenant}/exports/{exportId}': showExport,
  'DELETE /v1/tenants/{tenant}/exports/{exportId}': deleteExport,
  'GET /v1/tenants/{tenant}/counts': listCounts,
  'PATCH /v1/tenants/{tenant}/repos/{repo}/count': changeCount,
};

const byRouteKey: ReadonlyMap<string, Operation> = new Map(Object.entries(operations));

/** The operator's API. One function for all of it: it is asked rarely, and never in a hurry. */
export function create(deps: ManagementDeps & Pick<Deps, 'invocations'>): HttpHandler {
  return guard(deps, respondProblem, async (event) => {
    const operation = byRouteKey.get(event.routeKey);
    return operation ? operation(deps, event) : problem('not-found', 'There is no such route.');
  });
}

export const handler = await deployed(create, managementDeps, warmUpTable);
