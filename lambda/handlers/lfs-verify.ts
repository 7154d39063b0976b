import { verifyRequestSchema } from '../api/contract/lfs.ts';
import { pathRepo, pathTenant } from '../api/http.ts';
import {
  lfs,
  lfsBody,
  lfsError,
  lfsNotFound,
  lfsUnauthorized,
  respondLfsError,
  verifyToken,
} from '../api/lfs/http.ts';
import { invalid, sizeMismatch, uploadMissing } from '../api/lfs/messages.ts';
import { deployed } from '../aws/deployed.ts';
import { guard, type HttpHandler, warmUpTable } from '../aws/function.ts';
import { verifyDeps } from '../compositions/lfs-verify.ts';
import type { CoreDeps } from '../ledger/core-deps.ts';
import { verifyUpload } from '../ledger/reservations.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';
import { parseJson } from '../rules/text.ts';

/**
 * POST /{tenant}/{repo}/info/lfs/verify: the client asks this after each upload that came with a verify action, with the
 * token of the action's header. An error is never 422: the client would take that for a success.
 */
export function create(
  deps: Pick<CoreDeps, 'ledger' | 'store' | 'queue' | 'clock' | 'log' | 'settings'> & FunctionPorts,
): HttpHandler {
  return guard(deps, respondLfsError, async (event) => {
    const { requestId } = event.requestContext;
    const fail = (statusCode: number, message: string) => lfsError({ statusCode, message, requestId });
    const [tenant, repo, token] = [pathTenant(event), pathRepo(event), verifyToken(event)];
    if (token === undefined) return lfsUnauthorized(requestId);
    if (tenant === undefined || repo === undefined) return lfsNotFound(requestId);
    const body = lfsBody(deps.settings, event);
    if (!body.ok) return body.response;
    const parsed = verifyRequestSchema.safeParse(parseJson(body.body));
    if (!parsed.success) return fail(400, invalid.verify);
    const { oid, size } = parsed.data;
    const outcome = await verifyUpload(deps, {
      tenant,
      repo,
      oid,
      sizeBytes: size,
      verifyToken: token,
    });
    switch (outcome.kind) {
      case 'verified':
        return lfs(200, {});
      case 'missing':
        return fail(404, uploadMissing);
      case 'wrong-size':
        return fail(409, sizeMismatch(outcome.storedBytes, size));
      case 'unauthenticated':
        return lfsUnauthorized(requestId);
    }
  });
}

export const handler = await deployed(create, verifyDeps, warmUpTable);
