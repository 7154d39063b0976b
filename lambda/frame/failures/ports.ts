import type { Failures } from './failure-store.ts';

export interface FailurePorts {
  readonly failures: Failures;
}
