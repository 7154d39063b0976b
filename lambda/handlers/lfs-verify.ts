import * as z from 'zod';
import { verifyDeps } from '../compose.ts';
import { isByteCount } from '../domain/bytes.ts';
import { isOid } from '../domain/names.ts';
import { lfsBody } from '../http/lfs/body.ts';
import { credential, pathRepo, pathTenant } from '../http/request.ts';
import { lfs, lfsError, lfsNotFound, lfsUnauthorized } from '../http/respond.ts';
import { deployed } from '../runtime/deployed.ts';
import { guard, type HttpHandler } from '../runtime/guard.ts';
import { warmUpTable } from '../runtime/warm-up.ts';
import type { Deps } from '../use-cases/deps.ts';
import { verifyUpload } from '../use-cases/uploads/verify-upload.ts';

const verifyRequest = z.object({ oid: z.string().refine(isOid), size: z.number().refine(isByteCount) });

/**
 * POST /{tenant}/{repo}/info/lfs/verify: asked by the client after each upload, with the token of the
 * action's header. Errors are never 422: the client would take that for a success.
 */
export function create(
  deps: Pick<Deps, 'ledger' | 'store' | 'queue' | 'clock' | 'log' | 'invocations' | 'settings'>,
): HttpHandler {
  const respondError = (statusCode: number, message: string, requestId: string) =>
    lfsError({ statusCode, message, requestId });
  return guard(deps, respondError, async (event) => {
    const { requestId } = event.requestContext;
    const [tenant, repo, verifyToken] = [pathTenant(event), pathRepo(event), credential(event)];
    if (verifyToken === undefined) return lfsUnauthorized(requestId);
    if (tenant === undefined || repo === undefined) return lfsNotFound(requestId);
    const body = lfsBody(deps.settings, event);
    if (!body.ok) return body.response;
    const parsed = verifyRequest.safeParse(parseJson(body.body));
    if (!parsed.success)
      return respondError(400, 'The body must be {"oid": SHA-256, "size": bytes}.', requestId);
    const { oid, size } = parsed.data;
    const outcome = await verifyUpload(deps, { tenant, repo, oid, sizeBytes: size, verifyToken });
    switch (outcome.kind) {
      case 'verified':
        return lfs(200, {});
      case 'missing':
        return respondError(404, 'The object did not arrive: push again.', requestId);
      case 'wrong-size':
        return respondError(
          409,
          `The object is stored with ${outcome.storedBytes} bytes, not ${size}.`,
          requestId,
        );
      case 'unauthenticated':
        return lfsUnauthorized(requestId);
    }
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const handler = await deployed(create, verifyDeps, warmUpTable);
