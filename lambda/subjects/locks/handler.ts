import { guard, type HttpHandler } from '../../frame/aws/function.ts';
import { respondLfsError } from '../lfs/http.ts';
import { byRoute } from '../lfs/operations.ts';
import { type LockDeps, lfsLocks } from './lfs-routes.ts';

/** …/info/lfs/locks: the LFS File Locking API. A client asks it before each push which files others have locked. */
export function create(deps: LockDeps): HttpHandler {
  return guard(deps, respondLfsError, byRoute(lfsLocks(deps)));
}
