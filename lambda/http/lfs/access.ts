import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Watch } from '../../domain/cleanup/watch.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { TokenRecord } from '../../ports/credentials.ts';
import { authenticateToken } from '../../use-cases/access/authenticate.ts';
import { noteTokenUse } from '../../use-cases/access/note-token-use.ts';
import type { Deps } from '../../use-cases/deps.ts';
import { credential, pathRepo, pathTenant } from '../request.ts';
import type { Response } from '../respond.ts';
import type { RejectedLogins } from './rejected-logins.ts';
import { lfsForbidden, lfsNotFound, lfsUnauthorized } from './respond.ts';

export type LfsAccess =
  | {
      readonly ok: true;
      readonly tenant: TenantRecord;
      readonly repo: string;
      /** How many objects the repo had when it was last counted. undefined: it never was. */
      readonly repoObjects: number | undefined;
      /** Whether a clean-up is under way in the repo. */
      readonly watch: Watch | undefined;
      readonly token: TokenRecord;
    }
  | { readonly ok: false; readonly response: Response };

/** Who asks for which repo, or the answer that ends the request. */
export async function lfsAccess(
  deps: Pick<Deps, 'tokens' | 'ledger' | 'clock' | 'log'> & { readonly rejectedLogins: RejectedLogins },
  event: APIGatewayProxyEventV2,
): Promise<LfsAccess> {
  const { requestId } = event.requestContext;
  const [tenant, repo] = [pathTenant(event), pathRepo(event)];
  const notFound = { ok: false, response: lfsNotFound(requestId) } as const;
  const presented = credential(event);
  const access = await authenticateToken(deps, { tenant: tenant ?? '', repo, credential: presented });
  switch (access.kind) {
    case 'granted': {
      if (tenant === undefined || repo === undefined) return notFound;
      const [record, repoRecord] = await Promise.all([
        deps.ledger.readTenant(tenant),
        deps.ledger.readRepo({ tenant, repo }),
        noteTokenUse(deps, access.token),
      ]);
      // While it is being deleted, a tenant or repo is not there any more.
      const isClosed = record?.closedAtMs !== null || typeof repoRecord?.closedAtMs === 'number';
      if (isClosed) return notFound;
      const repoObjects = repoRecord && repoRecord.epoch > 0 ? repoRecord.objectCount : undefined;
      return { ok: true, tenant: record, repo, repoObjects, watch: repoRecord?.watch, token: access.token };
    }
    case 'unauthenticated': {
      const isRepeated = presented !== undefined && deps.rejectedLogins.isRepeated(presented);
      return { ok: false, response: isRepeated ? lfsForbidden(requestId) : lfsUnauthorized(requestId) };
    }
    case 'not-found':
      return notFound;
  }
}
