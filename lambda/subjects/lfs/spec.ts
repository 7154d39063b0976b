import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { pushes, readsObjects, tokenUse } from '../../frame/spec.ts';

export const lfs = {
  functions: {
    lfsBatch: {
      file: 'lfs/lfs-batch.ts',
      description: 'Git LFS batch API: admits uploads within the limit and presigns URLs.',
      routes: ['POST /{tenant}/{repo}/info/lfs/objects/batch'],
      does: ['admits', 'offers', 'asks for users'],
      isTried: true,
      reservedFor: 'pushes and pulls',
      slow: {
        id: 'BatchSlow',
        says: 'One in a hundred pushes and pulls waited long for its batch, for a quarter of an hour.',
      },
      timeoutSeconds: 25,
      // With 512, a first upload of 20 objects takes 490 ms instead of 171.
      memoryMb: 1_024,
      table: ['GetItem', 'Query', 'BatchGetItem'],
      items: [pushes('TENANT#*', 'SHARDS#*', 'SEEN#*'), tokenUse],
      objects: ['GetObject', 'PutObject'],
      bucket: ['ListBucket'],
      queues: { reconciles: ['send'] },
      secrets: ['CDN key'],
      answersLinks: true,
    },
    lfsVerify: {
      file: 'lfs/lfs-verify.ts',
      description: 'Git LFS verify: checks whether an upload arrived in the store.',
      routes: ['POST /{tenant}/{repo}/info/lfs/verify'],
      isTried: true,
      timeoutSeconds: 25,
      // 256 is too slow.
      memoryMb: 512,
      table: ['GetItem'],
      ...readsObjects,
      queues: { reconciles: ['send'] },
    },
  },
} as const satisfies SubjectSpec;
