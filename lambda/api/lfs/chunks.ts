import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { AccessPorts } from '../../access/ports.ts';
import type { ChunkPorts } from '../../chunks/ports.ts';
import { type ChunkedUpload, chunkCountOf, runsOf, uploadIdPattern } from '../../chunks/rules/upload.ts';
import { findUpload, progressOf, serveChunks } from '../../chunks/serve.ts';
import type { CoreDeps } from '../../ledger/core-deps.ts';
import type { RouteKey } from '../../routes.ts';
import type { FunctionPorts } from '../../rules/clock-and-log.ts';
import { parseJson } from '../../rules/text.ts';
import { firstIssue } from '../contract/json.ts';
import { chunksRequestSchema, type WireChunkedUpload, type WireChunks } from '../contract/lfs-chunks.ts';
import { header, pathOid, pathRepo, pathTenant, type Response, uploadTokenHeader } from '../http.ts';
import { lfs, lfsBody, lfsError, lfsNotAccepted, wireAction } from './http.ts';
import { invalid, uploadNotFound } from './messages.ts';

export type ChunkDeps = Pick<CoreDeps, 'listing' | 'signer' | 'clock' | 'settings' | 'log'> &
  Pick<AccessPorts, 'tokens'> &
  ChunkPorts &
  FunctionPorts;

type ChunkOperation = (
  deps: ChunkDeps,
  request: { upload: ChunkedUpload; event: APIGatewayProxyEventV2 },
) => Promise<Response>;

const show: ChunkOperation = async (deps, { upload, event }) => {
  const notAccepted = lfsNotAccepted(event);
  if (notAccepted) return notAccepted;
  const { state, stored, proven, unproven } = await progressOf(deps, upload);
  const isBetween = proven.chunks > 0 && proven.chunks < chunkCountOf(upload);
  const body: WireChunkedUpload = {
    state,
    size: upload.sizeBytes,
    chunkBytes: upload.chunkBytes,
    stored: runsOf(stored),
    proven: { chunks: proven.chunks, sha256State: isBetween ? proven.state : null },
    unproven: runsOf(unproven),
    failure: upload.failure ?? null,
  };
  return lfs(200, body);
};

const ask: ChunkOperation = async (deps, { upload, event }) => {
  const { requestId } = event.requestContext;
  const body = lfsBody(deps.settings, event);
  if (!body.ok) return body.response;
  const fail = (statusCode: number, message: string) => lfsError({ statusCode, message, requestId });
  const value = parseJson(body.body);
  if (value === undefined) return fail(400, invalid.json);
  const parsed = chunksRequestSchema.safeParse(value);
  if (!parsed.success) return fail(422, invalid.chunks(firstIssue(parsed.error)));
  const outcome = await serveChunks(deps, upload, parsed.data);
  if (outcome.kind === 'no-chunk') return fail(422, invalid.noChunk(outcome.chunk, chunkCountOf(upload)));
  const urls = outcome.urls.map(({ chunk, put, expiresInMs }) => ({
    chunk,
    ...wireAction(put, expiresInMs),
  }));
  const served: WireChunks = { state: outcome.state, urls, unproven: outcome.unproven };
  return lfs(200, served);
};

const progress: RouteKey<'lfsChunks'> = 'GET /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}';

/** A chunked upload's routes. Without its token they answer as if there were no such upload. */
export async function answerChunks(deps: ChunkDeps, event: APIGatewayProxyEventV2): Promise<Response> {
  const [tenant, repo, oid] = [pathTenant(event), pathRepo(event), pathOid(event)];
  const id = event.pathParameters?.['upload'] ?? '';
  const token = header(event, uploadTokenHeader.toLowerCase());
  const isNamed = tenant !== undefined && repo !== undefined && oid !== undefined && uploadIdPattern.test(id);
  const upload =
    isNamed && token !== undefined
      ? await findUpload(deps, { tenant, repo, oid, upload: id, token })
      : undefined;
  if (upload) return (event.routeKey === progress ? show : ask)(deps, { upload, event });
  const { requestId } = event.requestContext;
  return lfsError({ statusCode: 404, message: uploadNotFound, requestId });
}
