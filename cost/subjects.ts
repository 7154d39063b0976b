/** What a push asks of subjects before its batch: a line each. */

export { lookForLocks } from './subjects/locks/push.ts';
