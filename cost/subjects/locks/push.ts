import type { ClientRequest } from '../../operation.ts';

/** A push's first request. It notes that the token was used, as a request does once an hour. */
export const lookForLocks = {
  what: 'push: look for file locks',
  per: 'push',
  function: 'lfsLocks',
  reads: 4,
  writes: 1,
  waitMs: 30,
} as const satisfies ClientRequest;
