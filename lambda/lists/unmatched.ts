/** What subjects answer to requests of their clients that match no route. */

export { unmatchedLfs as lfs } from '../frame/lfs/not-found.ts';
