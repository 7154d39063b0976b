import type { Response } from '../api/http.ts';
import { lfsAccess, RejectedLogins } from '../api/lfs/access.ts';
import { respondLfsError } from '../api/lfs/http.ts';
import { type LockDeps, lockOperations } from '../api/lfs/locks.ts';
import { deployed } from '../aws/deployed.ts';
import { guard, type HttpHandler, warmUpTable } from '../aws/function.ts';
import { locksDeps } from '../compositions/lfs-locks.ts';
import type { RouteKey } from '../routes.ts';

/** …/info/lfs/locks: the LFS File Locking API. A client asks it before each push which files others have locked. */
export function create(deps: LockDeps): HttpHandler {
  const rejectedLogins = new RejectedLogins(deps.clock);
  return guard(deps, respondLfsError, async (event) => {
    const access = await lfsAccess({ ...deps, rejectedLogins }, event);
    if (!access.ok) return forRoute(event.routeKey, access.response);
    return lockOperations[event.routeKey as RouteKey<'lfsLocks'>](deps, { access, event });
  });
}

/**
 * A 404 would make git-lfs note in the clone, for good, that this server has no locks: whoever once pushed with a wrong
 * token would never look for locks again. A 403 it only prints.
 */
function forRoute(routeKey: string, refusal: Response): Response {
  const isVerify = routeKey === 'POST /{tenant}/{repo}/info/lfs/locks/verify';
  return isVerify && refusal.statusCode === 404 ? { ...refusal, statusCode: 403 } : refusal;
}

export const handler = await deployed(create, locksDeps, warmUpTable);
