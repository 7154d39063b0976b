/**
 * What subjects have for the function `lfsBatch` beside ways to log in: its other routes, what batches ask, another way that uploads
 * go than one PUT each (one at most), and what these need.
 */

export { chunkBatches as chunks } from '../subjects/chunks/seams.ts';
export { downloadBatches as downloads } from '../subjects/downloads/lfs/seams.ts';
