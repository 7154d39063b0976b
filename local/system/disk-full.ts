import { errorCode } from './startup-error.ts';

const causesMax = 5;

/** What a person reads after the name of what is on the full disk. */
export const diskFullAdvice =
  'is on a disk that is full, or beyond the quota of this user. Free some space, then start again. What is stored is safe.';

/**
 * True if the error, or one of its causes, is of a full file system or an exceeded disk quota. LevelDB gives no code,
 * only the system's words.
 */
export function isDiskFull(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; cause instanceof Error && depth < causesMax; depth += 1) {
    if (['ENOSPC', 'EDQUOT'].includes(errorCode(cause) ?? '')) return true;
    if (/No space left on device|Disk quota exceeded/.test(cause.message)) return true;
    cause = cause.cause;
  }
  return false;
}
