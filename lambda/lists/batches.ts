/** What subjects have for the function `lfsBatch` beside ways to log in: its other routes, what batches ask, and what these need. */

export { downloadBatches as downloads } from '../subjects/downloads/batches.ts';
