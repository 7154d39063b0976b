import type { FailurePorts } from '../../frame/failures/ports.ts';
import type { FailureKind } from '../../frame/failures/rules/failures.ts';
import type { GaugePorts } from '../../frame/gauges/rules/gauges.ts';

/** What a stage is doing, and what failed. */
export interface StatusPorts extends FailurePorts, GaugePorts {
  /** Beside reconciles. */
  readonly failureKinds: readonly FailureKind[];
}
