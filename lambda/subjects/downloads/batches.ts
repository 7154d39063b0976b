import { downloadSeams } from './lfs/seams.ts';
import { lfsCopies } from './lfs-routes.ts';
import * as stores from './stores.ts';

export const downloadBatches = {
  operations: lfsCopies,
  seams: downloadSeams,
  stores,
  queues: { copyQueue: 'Copy' },
} as const;
