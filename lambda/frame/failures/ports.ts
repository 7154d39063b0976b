import type { Failures } from './failure-store.ts';

/** Where failures are noted for the operator. */
export interface FailurePorts {
  readonly failures: Failures;
}
