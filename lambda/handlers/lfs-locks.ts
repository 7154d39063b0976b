import { locksDeps } from '../compositions/lfs-locks.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { guard, type HttpHandler, warmUpTable } from '../frame/aws/function.ts';
import { respondLfsError } from '../frame/lfs/http.ts';
import { type LockDeps, lfsLocks } from '../subjects/locks/lfs-routes.ts';

/** …/info/lfs/locks: the LFS File Locking API. A client asks it before each push which files others have locked. */
export function create(deps: LockDeps): HttpHandler {
  return guard(deps, respondLfsError, lfsLocks(deps));
}

export const handler = await deployed(create, locksDeps, warmUpTable);
