import type { GcRuns } from './gc-store.ts';

/** GC runs. */
export interface GcPorts {
  readonly gcRuns: GcRuns;
}
