import { isTenantName } from '../../domain/names.ts';
import { isGone } from '../../domain/tenant.ts';
import { createTenant } from '../../use-cases/access/create-tenant.ts';
import { json, problem, tenantNotFound } from '../respond.ts';
import { adminAccess, adminTenantAccess, openTenantAccess } from './access.ts';
import type { Operation } from './operation.ts';
import { createTenantBody, decodeBody, updateTenantBody } from './requests.ts';
import { tenantBody } from './responses.ts';

const pageSizeDefault = 100;
const pageSizeMax = 1000;

/**
 * GET /v1/tenants?limit=&after=: by name, a page at a time; `next` is the `after` of the next page. Of deleted
 * tenants only the names are kept, and not shown: a page may be shorter than asked for and yet not the last.
 */
export const listTenants: Operation = async (deps, event) => {
  const access = await adminAccess(deps, event);
  if (!access.ok) return access.response;
  const { limit = String(pageSizeDefault), after } = event.queryStringParameters ?? {};
  const refuse = (detail: string) => problem(422, 'Unprocessable Content', detail);
  const pageSize = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (pageSize < 1 || pageSize > pageSizeMax)
    return refuse(`limit must be a whole number from 1 to ${pageSizeMax}.`);
  // It goes into a key condition, and a key has a largest size.
  if (after && !isTenantName(after)) return refuse('after must be the name of a tenant.');
  const tenants = await deps.ledger.listTenants({ pageSize, ...(after && { after }) });
  const next = tenants.length === pageSize ? (tenants.at(-1)?.tenant ?? null) : null;
  return json(200, { tenants: tenants.filter((tenant) => !isGone(tenant)).map(tenantBody), next });
};

export const createTenantOperation: Operation = async (deps, event) => {
  const access = await adminAccess(deps, event);
  if (!access.ok) return access.response;
  const decoded = decodeBody(deps.settings, event, createTenantBody);
  if (!decoded.ok) return decoded.response;
  const { tenant, limitBytes = null, plan = null } = decoded.body;
  const outcome = await createTenant(deps, { tenant, limitBytes, plan });
  switch (outcome.kind) {
    case 'created':
      return json(201, tenantBody(outcome.tenant));
    case 'exists':
      return problem(409, 'Conflict', `The tenant ${tenant} exists already.`);
    case 'deleted': {
      const why = 'so that nothing of it can reach another';
      return problem(409, 'Conflict', `The name of the deleted tenant ${tenant} stays taken, ${why}.`);
    }
  }
};

export const showTenant: Operation = async (deps, event) => {
  const access = await adminTenantAccess(deps, event);
  return access.ok ? json(200, tenantBody(access.tenant)) : access.response;
};

export const updateTenant: Operation = async (deps, event) => {
  const access = await openTenantAccess(deps, event);
  if (!access.ok) return access.response;
  const decoded = decodeBody(deps.settings, event, updateTenantBody);
  if (!decoded.ok) return decoded.response;
  const { limitBytes, plan } = decoded.body;
  const updated = await deps.ledger.updateTenant({
    tenant: access.tenant.tenant,
    ...(limitBytes !== undefined && { limitBytes }),
    ...(plan !== undefined && { plan }),
  });
  return updated ? json(200, tenantBody(updated)) : tenantNotFound();
};
