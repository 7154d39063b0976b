import type { Locks } from './lock-store.ts';

export interface LockPorts {
  readonly locks: Locks;
}
