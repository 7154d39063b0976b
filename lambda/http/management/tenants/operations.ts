import { encodeCursor, noQuery, pageQuery, pageSizeDefault } from '../../../api/contract/fields.ts';
import { json, receivedAtMs } from '../../../api/http.ts';
import { adminAccess, adminTenantAccess } from '../../../api/management/access.ts';
import { problem, tenantNotFound } from '../../../api/problems.ts';
import { isGone, type TenantRecord } from '../../../domain/tenant.ts';
import {
  createTenantOnce,
  createTenant as createTenantUseCase,
} from '../../../use-cases/access/create-tenant.ts';
import { updateTenant as updateTenantUseCase } from '../../../use-cases/access/update-tenant.ts';
import { noteLimit } from '../../../use-cases/warnings/note-level.ts';
import { requestKey } from '../idempotency.ts';
import { change, jsonBody, noBody, type Operations, openTenantAccess, operation } from '../operation.ts';
import { tenantBody } from './bodies.ts';
import { createTenantBody, updateTenantBody } from './requests.ts';

/**
 * By name, a page at a time. Only the names of deleted tenants are kept, and they are not shown: a page may be
 * shorter than asked for without being the last.
 */
const listTenants = operation(
  { access: adminAccess, query: pageQuery, body: noBody },
  async (deps, { query: { limit = pageSizeDefault, cursor } }) => {
    const tenants = await deps.ledger.listTenants({
      pageSize: limit,
      ...(cursor && { after: cursor }),
    });
    const last = tenants.length === limit ? tenants.at(-1) : undefined;
    const nextCursor = last ? encodeCursor(last.tenant) : null;
    return json(200, { tenants: tenants.filter((tenant) => !isGone(tenant)).map(tenantBody), nextCursor });
  },
);

const createTenant = change(
  {
    action: 'tenant.create',
    access: adminAccess,
    query: noQuery,
    body: jsonBody(createTenantBody),
    tenantOf: ({ body }: { body: { tenant: string } }) => body.tenant,
  },
  async (deps, { body, event, trail }) => {
    const key = requestKey(event);
    if (!key.ok) return key.response;
    const { tenant, limitBytes = null, plan = null } = body;
    const account = { tenant, limitBytes, plan };
    const outcome =
      key.requestKey === undefined
        ? await createTenantUseCase(deps, account)
        : await createTenantOnce(deps, { account, requestKey: key.requestKey });
    switch (outcome.kind) {
      case 'created':
        trail.became({ plan, limitBytes });
        return json(201, tenantBody(outcome.tenant), { location: `/v1/tenants/${tenant}` });
      case 'exists':
        return problem('tenant-exists', `The tenant ${tenant} exists already.`);
      case 'deleted':
        return problem(
          'tenant-name-taken',
          `The name of the deleted tenant ${tenant} stays taken, so that nothing of it can reach another.`,
        );
      case 'reserved':
        return problem(
          'tenant-name-reserved',
          `No tenant can be called ${tenant}: the bucket has objects of an adopted repo below ${tenant}/.`,
        );
      case 'key-reused':
        return key.reused();
    }
  },
);

const showTenant = operation(
  { access: adminTenantAccess, query: noQuery, body: noBody },
  async (_deps, { tenant }) => json(200, tenantBody(tenant)),
);

const updateTenant = change(
  { action: 'tenant.update', access: openTenantAccess, query: noQuery, body: jsonBody(updateTenantBody) },
  async (deps, { tenant: read, body, event, trail }) => {
    const { limitBytes, downloadLimitBytes, plan, reposMustExist } = body;
    const outcome = await updateTenantUseCase(deps, {
      tenant: read,
      beganMs: receivedAtMs(event),
      change: {
        ...(limitBytes !== undefined && { limitBytes }),
        ...(downloadLimitBytes !== undefined && { downloadLimitBytes }),
        ...(plan !== undefined && { plan }),
        ...(reposMustExist !== undefined && { reposMustExist }),
      },
    });
    if (outcome.kind === 'absent') return tenantNotFound();
    const changed = Object.keys(body) as (keyof typeof body)[];
    const of = (record: TenantRecord) => Object.fromEntries(changed.map((name) => [name, record[name]]));
    trail.was(of(outcome.before));
    trail.became(of(outcome.tenant));
    if (outcome.tenant.limitBytes !== outcome.before.limitBytes) await noteLimit(deps, outcome.tenant);
    return json(200, tenantBody(outcome.tenant));
  },
);

export const tenantOperations = {
  'GET /v1/tenants': listTenants,
  'POST /v1/tenants': createTenant,
  'GET /v1/tenants/{tenant}': showTenant,
  'PATCH /v1/tenants/{tenant}': updateTenant,
} satisfies Operations;
