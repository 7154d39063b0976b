import type { Failures } from './failure-store.ts';
import type { DiskState } from './rules/disk.ts';
import type { FailureKind, QueueGauge, StoreProbe } from './rules/status.ts';

/** What a stage is doing, and what failed. */
export interface StatusPorts {
  /** Those that this stack has. */
  readonly queueGauges: readonly QueueGauge[];
  readonly storeProbe: StoreProbe;
  /** Absent: nothing is on a disk of this server. */
  readonly disk?: (() => DiskState) | undefined;
  readonly failures: Failures;
  /** Beside reconciles. */
  readonly failureKinds: readonly FailureKind[];
}
