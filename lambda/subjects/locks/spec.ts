import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { on, tokenUse } from '../../frame/spec.ts';

export const locks = {
  functions: {
    lfsLocks: {
      file: 'locks/lfs-locks.ts',
      description: 'Git LFS file locking: takes, lists and releases locks.',
      routes: [
        'POST /{tenant}/{repo}/info/lfs/locks',
        'GET /{tenant}/{repo}/info/lfs/locks',
        'POST /{tenant}/{repo}/info/lfs/locks/verify',
        'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock',
      ],
      timeoutSeconds: 25,
      // A lock takes up to twice a cached read of usage.
      memoryMb: 512,
      table: ['GetItem', 'Query'],
      items: [
        on(['LOCKS#*'], 'PutItem', 'DeleteItem'),
        on(['AUDIT#*', 'GRANT#*'], 'PutItem'),
        // The last release puts them.
        on(['MAPPED#*', 'LINK#*', 'PINNED#*'], 'PutItem', 'UpdateItem'),
        tokenUse,
      ],
    },
  },
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/repos/{repo}/locks',
        'DELETE /v1/tenants/{tenant}/repos/{repo}/locks',
      ],
    },
  },
} as const satisfies SubjectSpec;
