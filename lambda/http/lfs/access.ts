import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Watch } from '../../domain/cleanup/watch.ts';
import { isThere, type TenantRecord } from '../../domain/tenant.ts';
import type { TokenRecord } from '../../ports/credentials.ts';
import { authenticateToken } from '../../use-cases/access/authenticate.ts';
import { noteTokenUse } from '../../use-cases/access/note-token-use.ts';
import type { Deps } from '../../use-cases/deps.ts';
import { credential, header, pathRepo, pathTenant } from '../request.ts';
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
      /** Whether a push may bring it into being, or it is there. */
      readonly takesPushes: boolean;
      /** Whether a clean-up is under way in the repo. */
      readonly watch: Watch | undefined;
      readonly token: TokenRecord;
    }
  | {
      readonly ok: false;
      readonly response: Response;
      /** Nobody tried to log in, or did as somebody else: what is public is for them too. */
      readonly isAnybody: boolean;
    };

/** Who asks for which repo, or the answer that ends the request. */
export async function lfsAccess(
  deps: Pick<Deps, 'tokens' | 'ledger' | 'clock' | 'log'> & { readonly rejectedLogins: RejectedLogins },
  event: APIGatewayProxyEventV2,
): Promise<LfsAccess> {
  const { requestId } = event.requestContext;
  const [tenant, repo] = [pathTenant(event), pathRepo(event)];
  const notFound = { ok: false, response: lfsNotFound(requestId), isAnybody: true } as const;
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
      const takesPushes = !record.reposMustExist || (repoRecord !== undefined && isThere(repoRecord));
      const { token } = access;
      return { ok: true, tenant: record, repo, repoObjects, takesPushes, watch: repoRecord?.watch, token };
    }
    case 'unauthenticated': {
      const isRepeated = presented !== undefined && deps.rejectedLogins.isRepeated(presented);
      const response = isRepeated ? lfsForbidden(requestId) : lfsUnauthorized(requestId);
      // Whoever sends a wrong token has to learn that it is wrong.
      return { ok: false, response, isAnybody: header(event, 'authorization') === undefined };
    }
    case 'not-found':
      return notFound;
  }
}
