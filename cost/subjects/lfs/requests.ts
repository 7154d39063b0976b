import type { ClientRequests } from '../../operation.ts';

export const lfs: ClientRequests = {
  'push: batch': { of: 'lfsBatch', reads: 4, writes: 8, heads: 20, sends: 1, waitMs: 70, objects: 20 },
  'push: verify': { of: 'lfsVerify', per: 'verify', reads: 1, heads: 1, sends: 1, waitMs: 40, objects: 1 },
  'fetch: batch': { of: 'lfsBatch', reads: 3, writes: 3, heads: 20, waitMs: 60, objects: 20 },
  /** A download without a token, of a repo that isn't public. */
  'flood: batch': { of: 'lfsBatch', reads: 2, waitMs: 10 },
};
