import { type ChunkDeps, lfsChunks } from '../api/lfs/chunks.ts';
import { respondLfsError } from '../api/lfs/http.ts';
import { deployed } from '../aws/deployed.ts';
import { guard, type HttpHandler } from '../aws/function.ts';
import { chunksDeps } from '../compositions/lfs-chunks.ts';

/** …/info/lfs/chunks/{oid}/{upload}: how a client uploads a large object in chunks. */
export function create(deps: ChunkDeps): HttpHandler {
  return guard(deps, respondLfsError, lfsChunks(deps));
}

export const handler = await deployed(create, chunksDeps);
