import { guard, type HttpHandler } from '../../frame/aws/function.ts';
import { respondLfsError } from '../lfs/http.ts';
import { byRoute } from '../lfs/operations.ts';
import { type ChunkDeps, lfsChunks } from './lfs-routes.ts';

/** …/info/lfs/chunks/{oid}/{upload}: how a client uploads a large object in chunks. */
export function create(deps: ChunkDeps): HttpHandler {
  return guard(deps, respondLfsError, byRoute(lfsChunks(deps)));
}
