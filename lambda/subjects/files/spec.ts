import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { on, pushes, tokenUse } from '../../frame/spec.ts';

export const files = {
  functions: {
    files: {
      file: 'files/files.ts',
      description: 'Files API: admits uploads within the limit, presigns URLs, lists and deletes files.',
      routes: [
        'POST /v1/tenants/{tenant}/repos/{repo}/uploads',
        'POST /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}',
        'DELETE /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}',
        'GET /v1/tenants/{tenant}/repos/{repo}/files',
        'GET /v1/tenants/{tenant}/repos/{repo}/files/usage',
        'DELETE /v1/tenants/{tenant}/repos/{repo}/files',
        'POST /v1/tenants/{tenant}/repos/{repo}/downloads',
      ],
      does: ['admits', 'offers'],
      timeoutSeconds: 25,
      // As the function for batches, whose work it does.
      memoryMb: 1_024,
      table: ['GetItem', 'Query', 'BatchGetItem'],
      items: [
        pushes('TENANT#*', 'SHARDS#*', 'PARTS#*'),
        on(['REQUEST#*', 'AUDIT#*'], 'PutItem', 'UpdateItem'),
        tokenUse,
      ],
      objects: ['GetObject', 'PutObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'],
      notAdopted: ['GetObject', 'PutObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'],
      bucket: ['ListBucket'],
      queues: { reconciles: ['send'] },
      secrets: ['admin token'],
    },
  },
  adds: {
    reconcile: { objects: ['AbortMultipartUpload'], notAdopted: ['AbortMultipartUpload'] },
  },
} as const satisfies SubjectSpec;
