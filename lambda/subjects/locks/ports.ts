import type { Locks } from './lock-store.ts';

/** Locks of files. */
export interface LockPorts {
  readonly locks: Locks;
}
