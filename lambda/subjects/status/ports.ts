import type { FailurePorts } from '../../frame/failures/ports.ts';
import type { FailureKind } from '../../frame/failures/rules/failures.ts';
import type { DiskState } from './rules/disk.ts';
import type { QueueGauge, StoreProbe } from './rules/status.ts';

/** What a stage is doing, and what failed. */
export interface StatusPorts extends FailurePorts {
  /** Those that this stack has. */
  readonly queueGauges: readonly QueueGauge[];
  readonly storeProbe: StoreProbe;
  /** Absent: nothing is on a disk of this server. */
  readonly disk?: (() => DiskState) | undefined;
  /** Beside reconciles. */
  readonly failureKinds: readonly FailureKind[];
}
