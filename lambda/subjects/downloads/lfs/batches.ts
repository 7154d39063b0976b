import * as stores from '../stores.ts';
import { lfsCopies } from './routes.ts';
import { downloadSeams } from './seams.ts';

export const downloadBatches = {
  operations: lfsCopies,
  seams: downloadSeams,
  stores,
  queues: { copyQueue: 'Copy' },
} as const;
