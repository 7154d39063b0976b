import { chunksDeps } from '../compositions/lfs-chunks.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { guard, type HttpHandler } from '../frame/aws/function.ts';
import { respondLfsError } from '../frame/lfs/http.ts';
import { type ChunkDeps, lfsChunks } from '../subjects/chunks/lfs-routes.ts';

/** …/info/lfs/chunks/{oid}/{upload}: how a client uploads a large object in chunks. */
export function create(deps: ChunkDeps): HttpHandler {
  return guard(deps, respondLfsError, lfsChunks(deps));
}

export const handler = await deployed(create, chunksDeps);
