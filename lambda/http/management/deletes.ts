import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { deleteRepo, deleteTenant, markObject } from '../../use-cases/deletes/delete-objects.ts';
import { pathOid, pathRepo } from '../request.ts';
import { json, problem, type Response } from '../respond.ts';
import { adminTenantAccess } from './access.ts';
import type { Operation } from './operation.ts';
import { deletePlanBody } from './responses.ts';

/** DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}?dryRun= */
export const deleteObject: Operation = async (deps, event) => {
  const access = await adminTenantAccess(deps, event);
  if (!access.ok) return access.response;
  const dryRun = readDryRun(event);
  if (dryRun === undefined) return badDryRun();
  const { tenant } = access.tenant;
  const [repo, oid] = [pathRepo(event), pathOid(event)];
  const path = repo === undefined || oid === undefined ? undefined : { tenant, repo, oid };
  const plan = path && (await markObject(deps, { ...path, dryRun }));
  if (!plan) return notFound(`The tenant ${tenant} stores no such object in such a repo.`);
  return json(dryRun ? 200 : 202, deletePlanBody(path, plan));
};

/** DELETE /v1/tenants/{tenant}/repos/{repo}?dryRun= */
export const deleteRepoOperation: Operation = async (deps, event) => {
  const access = await adminTenantAccess(deps, event);
  if (!access.ok) return access.response;
  const dryRun = readDryRun(event);
  if (dryRun === undefined) return badDryRun();
  const { tenant } = access.tenant;
  const repo = pathRepo(event);
  const path = repo === undefined ? undefined : { tenant, repo };
  const plan = path && (await deleteRepo(deps, { ...path, dryRun }));
  if (!plan) return notFound(`The tenant ${tenant} has no repo of that name with anything in it.`);
  return json(dryRun ? 200 : 202, deletePlanBody(path, plan));
};

/** DELETE /v1/tenants/{tenant}?dryRun= */
export const deleteTenantOperation: Operation = async (deps, event) => {
  const access = await adminTenantAccess(deps, event);
  if (!access.ok) return access.response;
  const dryRun = readDryRun(event);
  if (dryRun === undefined) return badDryRun();
  const { tenant } = access;
  const plan = await deleteTenant(deps, { tenant, dryRun });
  return json(dryRun ? 200 : 202, deletePlanBody({ tenant: tenant.tenant }, plan));
};

/** Undefined where it is neither: whoever misspells it must not lose what was only to be looked at. */
function readDryRun(event: APIGatewayProxyEventV2): boolean | undefined {
  const query = event.queryStringParameters ?? {};
  const misspelt = Object.keys(query).some((name) => name !== 'dryRun');
  const { dryRun = 'false' } = query;
  if (misspelt || (dryRun !== 'true' && dryRun !== 'false')) return undefined;
  return dryRun === 'true';
}

function badDryRun(): Response {
  const detail = 'The query of a delete may only say dryRun=true or dryRun=false. Nothing was deleted.';
  return problem(422, 'Unprocessable Content', detail);
}

function notFound(detail: string): Response {
  return problem(404, 'Not Found', detail);
}
