import type { GcRuns } from './gc-store.ts';

export interface GcPorts {
  readonly gcRuns: GcRuns;
}
