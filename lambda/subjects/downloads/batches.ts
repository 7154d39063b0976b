import { lfsCopies } from './lfs-routes.ts';
import { downloadSeams } from './seams.ts';
import * as stores from './stores.ts';

export const downloadBatches = {
  operations: lfsCopies,
  seams: downloadSeams,
  stores,
  queues: { copyQueue: 'Copy' },
} as const;
