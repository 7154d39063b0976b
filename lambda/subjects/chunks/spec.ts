import { ownFolders } from '../../core/store/rules/own-folders.ts';
import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { on, pushes } from '../../frame/spec.ts';
import type { lfs } from '../lfs/spec.ts';

export const chunks = {
  functions: {
    lfsChunks: {
      file: 'chunks/lfs-chunks.ts',
      description: 'Chunked uploads: shows their progress, presigns URLs of chunks and queues proofs.',
      routes: [
        'GET /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}',
        'POST /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}',
      ],
      timeoutSeconds: 25,
      memoryMb: 512,
      items: [on(['UPLOAD#*'], 'GetItem', 'Query', 'UpdateItem'), on(['TENANT#*', 'TOKEN#*'], 'GetItem')],
      own: { chunks: ['PutObject'] },
      bucket: ['ListBucket'],
      queues: { chunks: ['send'] },
    },
    assembleUpload: {
      file: 'chunks/assemble-upload.ts',
      description: 'Reads the chunks of large uploads, assembles them, and removes what is left of them.',
      timeoutSeconds: 900,
      // SHA-256 of a chunk is as fast as its download.
      memoryMb: 1_024,
      table: ['GetItem'],
      items: [on(['UPLOAD#*'], 'Query', 'PutItem', 'DeleteItem'), on(['UPLOAD#*', 'TENANT#*'], 'UpdateItem')],
      objects: ['GetObject', 'PutObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'],
      own: { chunks: ['DeleteObject'] },
      bucket: ['ListBucket'],
      queues: { reconciles: ['send'], chunks: ['send', 'receive', 'delay'] },
    },
  },
  adds: {
    management: { queues: { chunks: ['gauge'] } },
    refresh: { queues: { chunks: ['send'] } },
    lfsBatch: { items: [pushes('UPLOAD#*')] },
  },
  ownScopes: {
    chunks: {
      below: `/${ownFolders.parts}/*`,
      why: 'Chunks have keys of their own, by tenant, repo, object and upload, and all come and go.',
    },
  },
  queues: {
    chunks: {
      kind: 'Chunk',
      workersIn: 'chunkWorkers',
      workersDo: 'check and assemble files uploaded in chunks',
      usualWorkers: 4,
      lost: "A chunk of a large file couldn't be read, or the file couldn't be assembled. If nothing retries it, its push fails.",
    },
  },
} as const satisfies SubjectSpec<keyof typeof lfs.functions>;
