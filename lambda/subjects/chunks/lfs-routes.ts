import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { suspension } from '../../frame/access/rules/suspension.ts';
import { header, pathOid, pathRepo, pathTenant, uploadTokenHeader } from '../../frame/api/http.ts';
import { lfs, lfsError, wireAction } from '../lfs/http.ts';
import { lfsOperations } from '../lfs/operations.ts';
import { chunksRequestSchema, type lfsChunksContract } from './contract.ts';
import { invalidChunks, uploadNotFound } from './lfs-messages.ts';
import type { ChunkPorts } from './ports.ts';
import { type ChunkedUpload, chunkCountOf, runsOf, uploadIdPattern } from './rules/upload.ts';
import { findUpload, progressOf, serveChunks } from './serve.ts';

export type ChunkDeps = Pick<CoreDeps, 'ledger' | 'listing' | 'signer' | 'clock' | 'settings' | 'log'> &
  Pick<AccessPorts, 'tokens'> &
  ChunkPorts &
  FunctionPorts;

/** Without its token, a chunked upload's routes answer as if there were no such upload. */
const uploadAccess = (deps: ChunkDeps) => async (event: APIGatewayProxyEventV2) => {
  const [tenant, repo, oid] = [pathTenant(event), pathRepo(event), pathOid(event)];
  const id = event.pathParameters?.['upload'] ?? '';
  const token = header(event, uploadTokenHeader.toLowerCase());
  const isNamed = tenant !== undefined && repo !== undefined && oid !== undefined && uploadIdPattern.test(id);
  const upload =
    isNamed && token !== undefined
      ? await findUpload(deps, { tenant, repo, oid, upload: id, token })
      : undefined;
  if (upload) return { ok: true, upload } as const;
  const { requestId } = event.requestContext;
  return { ok: false, response: lfsError({ statusCode: 404, message: uploadNotFound, requestId }) } as const;
};

export const lfsChunks = lfsOperations<typeof lfsChunksContract, ChunkDeps, { upload: ChunkedUpload }>(
  uploadAccess,
  {
    'GET /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': {
      async run(deps, { upload }) {
        const { state, stored, proven, unproven } = await progressOf(deps, upload);
        const isBetween = proven.chunks > 0 && proven.chunks < chunkCountOf(upload);
        return lfs(200, {
          state,
          size: upload.sizeBytes,
          chunkBytes: upload.chunkBytes,
          stored: runsOf(stored),
          proven: { chunks: proven.chunks, sha256State: isBetween ? proven.state : null },
          unproven: runsOf(unproven),
          failure: upload.failure ?? null,
        });
      },
    },
    'POST /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': {
      takes: { schema: chunksRequestSchema, wrong: invalidChunks.request },
      refusal: async ({ ledger }, { upload, refuse }) => {
        const tenant = await ledger.readTenant(upload.tenant);
        const message = tenant && suspension(tenant, 'pushes');
        return message === undefined ? undefined : refuse(403, message);
      },
      async run(deps, { upload, asked, refuse }) {
        const outcome = await serveChunks(deps, upload, asked);
        if (outcome.kind === 'no-chunk')
          return refuse(422, invalidChunks.noChunk(outcome.chunk, chunkCountOf(upload)));
        const urls = outcome.urls.map(({ chunk, put, expiresInMs }) => ({
          chunk,
          ...wireAction(put, expiresInMs),
        }));
        return lfs(200, { state: outcome.state, urls, unproven: outcome.unproven });
      },
    },
  },
);
