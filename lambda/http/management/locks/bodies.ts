import { type FileLock, ownerOfLock } from '../../../domain/lock.ts';
import { iso } from '../fields.ts';
import type { FileLockBody } from './schemas.ts';

export function fileLockBody(lock: FileLock): FileLockBody {
  const { id, path, ownerName, lockedAtMs } = lock;
  return { id, path, owner: ownerOfLock(lock), ownerName, lockedAt: iso(lockedAtMs) };
}
