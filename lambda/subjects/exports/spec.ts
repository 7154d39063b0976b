import { ownFolders } from '../../core/store/rules/own-folders.ts';
import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { on } from '../../frame/spec.ts';

const why = 'Exports have keys of their own, by tenant and export, and both come and go.';

export const exports = {
  functions: {
    exportArchive: {
      file: 'exports/export-archive.ts',
      description: 'Makes the archives of exports, and removes what is left of them.',
      timeoutSeconds: 300,
      // Planning a million objects takes 723 MB, with a heap of 600 MB.
      memoryMb: 2_048,
      items: [
        on(['TENANT#*'], 'GetItem', 'Query'),
        on(['EXPORTS#*'], 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
        on(['FAILURES'], 'GetItem', 'PutItem', 'UpdateItem'),
      ],
      objects: ['GetObject'],
      bucket: ['ListBucket', 'ListBucketMultipartUploads'],
      own: { archives: ['PutObject', 'DeleteObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'] },
      knowsExports: true,
      queues: { exports: ['send', 'receive', 'delay'] },
    },
  },
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/exports',
        'POST /v1/tenants/{tenant}/exports',
        'GET /v1/tenants/{tenant}/exports/{exportId}',
        'DELETE /v1/tenants/{tenant}/exports/{exportId}',
      ],
      own: { 'export requests': ['PutObject'] },
      knowsExports: true,
      queues: { exports: ['send', 'gauge'] },
    },
    refresh: { queues: { exports: ['send'] } },
  },
  ownScopes: {
    archives: { below: `/${ownFolders.exports}/*`, why },
    'export requests': { below: `/${ownFolders.exports}/*/*/work/request.json`, why },
  },
  queues: {
    exports: {
      kind: 'Export',
      workersIn: 'exports.workers',
      usualWorkers: 40,
      lost: 'A step of an export failed too often. The schedule continues the export, or it fails within a day.',
      // An export may have hours of work in its queue. It fails after a day.
      isLaterBy: 6,
      graphs: { title: 'Exports', done: 'steps', label: 'steps', one: 'step of an export' },
    },
  },
} as const satisfies SubjectSpec;
