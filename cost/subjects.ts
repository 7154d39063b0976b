/** What clients ask of subjects: a line each. */

export { downloadBatch, uploadBatch, verify, withoutToken } from './subjects/lfs/requests.ts';
export { lookForLocks } from './subjects/locks/push.ts';
