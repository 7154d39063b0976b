import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { TokenScope } from '../../ports/credentials.ts';
import { authenticateTenant } from '../../use-cases/access/authenticate.ts';
import type { Deps } from '../../use-cases/deps.ts';
import { credential, pathRepo, pathTenant } from '../request.ts';
import type { Response } from '../respond.ts';
import { lfsNotFound, lfsUnauthorized } from './respond.ts';

export type LfsAccess =
  | { readonly ok: true; readonly tenant: TenantRecord; readonly repo: string; readonly scope: TokenScope }
  | { readonly ok: false; readonly response: Response };

/** Who asks for which repo, or the answer that ends the request. */
export async function lfsAccess(
  deps: Pick<Deps, 'tokens' | 'ledger'>,
  event: APIGatewayProxyEventV2,
): Promise<LfsAccess> {
  const { requestId } = event.requestContext;
  const [tenant, repo] = [pathTenant(event), pathRepo(event)];
  const presented = credential(event);
  if (presented === undefined) return { ok: false, response: lfsUnauthorized(requestId) };
  if (tenant === undefined || repo === undefined) return { ok: false, response: lfsNotFound(requestId) };
  const [access, record] = await Promise.all([
    authenticateTenant(deps, { tenant, credential: presented }),
    deps.ledger.readRepo({ tenant, repo }),
  ]);
  switch (access.kind) {
    case 'granted':
      // A repo that is being deleted is not there any more.
      if (typeof record?.closedAtMs === 'number') return { ok: false, response: lfsNotFound(requestId) };
      return { ok: true, tenant: access.tenant, repo, scope: access.scope };
    case 'unauthenticated':
      return { ok: false, response: lfsUnauthorized(requestId) };
    case 'not-found':
      return { ok: false, response: lfsNotFound(requestId) };
  }
}
