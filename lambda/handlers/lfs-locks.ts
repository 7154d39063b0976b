import { respondLfsError } from '../api/lfs/http.ts';
import { type LockDeps, lfsLocks } from '../api/lfs/locks.ts';
import { deployed } from '../aws/deployed.ts';
import { guard, type HttpHandler, warmUpTable } from '../aws/function.ts';
import { locksDeps } from '../compositions/lfs-locks.ts';

/** …/info/lfs/locks: the LFS File Locking API. A client asks it before each push which files others have locked. */
export function create(deps: LockDeps): HttpHandler {
  return guard(deps, respondLfsError, lfsLocks(deps));
}

export const handler = await deployed(create, locksDeps, warmUpTable);
