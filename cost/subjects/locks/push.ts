import type { ClientRequests } from '../../operation.ts';

/** A push's first request. It notes that the token was used, as a request does once an hour. */
export const locks: ClientRequests = {
  'push: look for file locks': { of: 'lfsLocks', reads: 4, writes: 1, waitMs: 30 },
};
