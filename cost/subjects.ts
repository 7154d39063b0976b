/** What clients ask of subjects: a line each. */

export { lfs } from './subjects/lfs/requests.ts';
export { locks } from './subjects/locks/push.ts';
