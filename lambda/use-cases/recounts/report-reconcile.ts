import type { Deps } from '../../deps.ts';
import type { Recomputed } from '../../domain/reconciliation.ts';
import type { RepoScan } from '../../domain/repo-reservations.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { LedgerSnapshot } from './read-snapshot.ts';

/** Measures and logs a reconcile that was committed. */
export function reportReconcile(
  deps: Pick<Deps, 'clock' | 'log' | 'metrics' | 'settings'>,
  committed: {
    /** The tenant as the reconcile found it. */
    before: TenantRecord;
    isFull: boolean;
    snapshot: LedgerSnapshot;
    recomputed: Recomputed;
    scans: ReadonlyMap<string, RepoScan>;
    /** LIST requests. */
    requests: number;
    scanEndedMs: number;
  },
): void {
  const { metrics, log } = deps;
  const { before, snapshot, recomputed, requests } = committed;
  const { scanBeganMs } = snapshot;
  const nowMs = deps.clock.nowMs();
  const driftBytes = recomputed.totalBytes - before.committedBytes;
  metrics.increment('ScanRequests', requests);
  metrics.measure('ScanDuration', committed.scanEndedMs - scanBeganMs);
  // The first count corrects nothing and replaces no older count.
  if (before.counted !== null) {
    metrics.measure('DriftBytes', Math.abs(driftBytes));
    metrics.measure('CounterShortfallBytes', Math.max(0, driftBytes));
    const ageMs = Math.max(0, nowMs - before.counted.countedAtMs);
    const overdueMs = Math.max(0, nowMs - before.dueAtMs);
    metrics.measure('ReconcileAge', Math.min(ageMs, deps.settings.maxAgeMs + overdueMs));
  }
  log.info('reconciled', {
    tenant: before.tenant,
    full: committed.isFull,
    reposScanned: committed.scans.size,
    requests,
    storedBytes: recomputed.storedBytes,
    objectCount: recomputed.objectCount,
    driftBytes,
    ageMs: before.counted && nowMs - before.counted.countedAtMs,
    durationMs: nowMs - scanBeganMs,
  });
}
