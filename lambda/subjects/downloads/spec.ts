import { on, pushes, type SubjectSpec } from '../../frame/spec.ts';

export const downloads = {
  functions: {
    copyObject: {
      file: 'downloads/copy-object.ts',
      description:
        'Copies objects from other servers by signed URLs. It reaches the internet, and of the table its own items.',
      timeoutSeconds: 900,
      memoryMb: 512,
      items: [on(['COPY#*'], 'UpdateItem', 'DeleteItem')],
      queues: { copies: ['receive', 'delay'] },
    },
  },
  adds: {
    management: {
      routes: ['GET /v1/tenants/{tenant}/downloads'],
      queues: { copies: ['gauge'] },
    },
    lfsBatch: {
      routes: ['POST /{tenant}/{repo}/info/lfs/objects/copies'],
      items: [pushes('COPY#*', 'DOWNLOADS#*', 'PUBLIC#*')],
      queues: { copies: ['send'] },
    },
  },
  queues: {
    copies: { kind: 'Copy', consumer: 'copyObject', variable: 'LFS_QUOTA_COPY_QUEUE_URL' },
  },
} as const satisfies SubjectSpec;
