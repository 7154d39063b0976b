import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { verifyUpload } from '../../core/ledger/reservations.ts';
import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { pathRepo, pathTenant } from '../../frame/api/http.ts';
import { guard, type HttpHandler } from '../../frame/aws/function.ts';
import type { verifyContract } from './contract.ts';
import { lfs, lfsNotFound, lfsUnauthorized, respondLfsError, verifyToken } from './http.ts';
import { verifyRequestSchema } from './lfs-request.ts';
import { invalid, sizeMismatch, uploadMissing } from './messages.ts';
import { byRoute, lfsOperations } from './operations.ts';

type VerifyDeps = Pick<CoreDeps, 'ledger' | 'store' | 'queue' | 'clock' | 'log' | 'settings'> & FunctionPorts;

/** The token of the verify action. The reservation tells later whether it's right. */
const verifyAccess = () => async (event: APIGatewayProxyEventV2) => {
  const { requestId } = event.requestContext;
  const [tenant, repo, token] = [pathTenant(event), pathRepo(event), verifyToken(event)];
  if (token === undefined) return { ok: false, response: lfsUnauthorized(requestId) } as const;
  if (tenant === undefined || repo === undefined)
    return { ok: false, response: lfsNotFound(requestId) } as const;
  return { ok: true, tenant, repo, token } as const;
};

const lfsVerify = lfsOperations<typeof verifyContract, VerifyDeps, RepoPath & { token: string }>(
  verifyAccess,
  {
    'POST /{tenant}/{repo}/info/lfs/verify': {
      takes: { schema: verifyRequestSchema, wrong: () => invalid.verify, isNever422: true },
      async run(deps, { tenant, repo, token, asked: { oid, size }, requestId, refuse }) {
        const upload = { tenant, repo, oid, sizeBytes: size, verifyToken: token };
        const outcome = await verifyUpload(deps, upload);
        switch (outcome.kind) {
          case 'verified':
            return lfs(200, {});
          case 'missing':
            return refuse(404, uploadMissing);
          case 'wrong-size':
            return refuse(409, sizeMismatch(outcome.storedBytes, size));
          case 'unauthenticated':
            return lfsUnauthorized(requestId);
        }
      },
    },
  },
);

/**
 * POST /{tenant}/{repo}/info/lfs/verify: the client asks this after each upload that came with a verify action, with the
 * token of the action's header.
 */
export function create(deps: VerifyDeps): HttpHandler {
  return guard(deps, respondLfsError, byRoute(lfsVerify(deps)));
}
