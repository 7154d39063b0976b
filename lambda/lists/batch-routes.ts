/** What the function `lfsBatch` answers beside batches: a line a subject. */

export { lfsCopies as downloads } from '../subjects/downloads/lfs-routes.ts';
