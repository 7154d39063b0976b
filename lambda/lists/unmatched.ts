/** What subjects answer to requests of their clients that match no route. */

export { unmatchedLfs as lfs } from '../subjects/lfs/not-found.ts';
