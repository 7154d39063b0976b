import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { isGone, type TenantRecord } from '../../domain/tenant.ts';
import { authenticateToken, isAdmin } from '../../use-cases/access/authenticate.ts';
import type { Deps } from '../../use-cases/deps.ts';
import { problem, tenantNotFound, unauthorized } from '../problems.ts';
import { credential, pathTenant } from '../request.ts';
import type { Response } from '../respond.ts';

export type Access<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly response: Response };

/** Lets the operator pass. A tenant's token is not looked up here. */
export async function adminAccess(
  deps: Pick<Deps, 'admin'>,
  event: APIGatewayProxyEventV2,
): Promise<Access<object>> {
  return (await isAdmin(deps, credential(event)))
    ? { ok: true }
    : { ok: false, response: unauthorized('the admin') };
}

/** Lets the operator pass for a tenant that exists. One that is being deleted exists until nothing of it is left. */
export async function adminTenantAccess(
  deps: Pick<Deps, 'admin' | 'ledger'>,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ tenant: TenantRecord }>> {
  if (!(await isAdmin(deps, credential(event)))) return { ok: false, response: unauthorized('the admin') };
  const name = pathTenant(event);
  const tenant = name === undefined ? undefined : await deps.ledger.readTenant(name);
  return tenant && !isGone(tenant) ? { ok: true, tenant } : { ok: false, response: tenantNotFound() };
}

/** Lets the operator pass for a tenant that can be changed. */
export async function openTenantAccess(
  deps: Pick<Deps, 'admin' | 'ledger'>,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ tenant: TenantRecord }>> {
  const access = await adminTenantAccess(deps, event);
  return access.ok && access.tenant.closedAtMs !== null ? tenantClosed(access.tenant) : access;
}

function tenantClosed({ tenant }: TenantRecord): { ok: false; response: Response } {
  return { ok: false, response: problem('tenant-closed', `The tenant ${tenant} is being deleted.`) };
}

/** Lets the operator, and any token of this tenant, pass. Nothing of the tenant is read before that is decided. */
export async function readerAccess(
  deps: Pick<Deps, 'admin' | 'ledger' | 'tokens'>,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ tenant: TenantRecord; isAdmin: boolean }>> {
  const reader = await authenticateReader(deps, event);
  if (!reader.ok) return reader;
  return readableTenant(await deps.ledger.readTenant(reader.name), reader);
}

/** The same for a tenant that can be changed. Only the operator sees one that is being deleted. */
export async function openReaderAccess(
  deps: Pick<Deps, 'admin' | 'ledger' | 'tokens'>,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ tenant: TenantRecord; isAdmin: boolean }>> {
  const access = await readerAccess(deps, event);
  return access.ok && access.tenant.closedAtMs !== null ? tenantClosed(access.tenant) : access;
}

/** Who may read a tenant, by their credentials alone. */
export async function authenticateReader(
  deps: Pick<Deps, 'admin' | 'tokens'>,
  event: APIGatewayProxyEventV2,
): Promise<Access<{ name: string; isAdmin: boolean }>> {
  const presented = credential(event);
  const name = pathTenant(event);
  const notFound = { ok: false, response: tenantNotFound() } as const;
  if (await isAdmin(deps, presented))
    return name === undefined ? notFound : { ok: true, name, isAdmin: true };
  const access = await authenticateToken(deps, { tenant: name ?? '', credential: presented });
  switch (access.kind) {
    case 'granted':
      return name === undefined ? notFound : { ok: true, name, isAdmin: false };
    case 'unauthenticated':
      return { ok: false, response: unauthorized() };
    case 'not-found':
      return notFound;
  }
}

/** The tenant, if it is there for this reader: the operator sees one that is being deleted until nothing is left. */
export function readableTenant(
  tenant: TenantRecord | undefined,
  { isAdmin }: { isAdmin: boolean },
): Access<{ tenant: TenantRecord; isAdmin: boolean }> {
  const isThere = tenant && (isAdmin ? !isGone(tenant) : tenant.closedAtMs === null);
  return isThere ? { ok: true, tenant, isAdmin } : { ok: false, response: tenantNotFound() };
}
