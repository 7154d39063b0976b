import type { TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';

export interface CommittedReconcile {
  /** As the reconcile found it. */
  readonly before: TenantRecord;
  readonly full: boolean;
  readonly reposScanned: number;
  readonly requests: number;
  readonly storedBytes: number;
  readonly objectCount: number;
  /** What the counter was corrected to. */
  readonly totalBytes: number;
  readonly scanBeganMs: number;
  readonly scanEndedMs: number;
}

/** Measures and logs a reconcile that was committed. */
export function reportReconcile(
  deps: Pick<Deps, 'clock' | 'log' | 'metrics' | 'settings'>,
  committed: CommittedReconcile,
): void {
  const { metrics, log } = deps;
  const { before, totalBytes, scanBeganMs, scanEndedMs, requests } = committed;
  const nowMs = deps.clock.nowMs();
  const driftBytes = totalBytes - before.committedBytes;
  metrics.increment('ScanRequests', requests);
  metrics.measure('ScanDuration', scanEndedMs - scanBeganMs);
  // The first count is no correction, and follows none.
  if (before.counted !== null) {
    metrics.measure('DriftBytes', Math.abs(driftBytes));
    metrics.measure('CounterShortfallBytes', Math.max(0, driftBytes));
    const ageMs = Math.max(0, nowMs - before.counted.countedAtMs);
    const overdueMs = Math.max(0, nowMs - before.dueAtMs);
    metrics.measure('ReconcileAge', Math.min(ageMs, deps.settings.maxAgeMs + overdueMs));
  }
  log.info('reconciled', {
    tenant: before.tenant,
    full: committed.full,
    reposScanned: committed.reposScanned,
    requests,
    storedBytes: committed.storedBytes,
    objectCount: committed.objectCount,
    driftBytes,
    ageMs: before.counted && nowMs - before.counted.countedAtMs,
    durationMs: nowMs - scanBeganMs,
  });
}
