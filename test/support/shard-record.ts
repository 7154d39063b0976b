import type { Shard } from '../../lambda/core/ledger/rules/shard.ts';

/** An empty shard that was counted at 1000. */
export function shardRecord(prefix: string, more: Partial<Shard> = {}): Shard {
  return {
    prefix,
    epoch: 5,
    partOf: null,
    storedBytes: 0,
    objectCount: 0,
    sinceBytes: 0,
    sinceCount: 0,
    scannedAtMs: 1000,
    scanEndedMs: 1100,
    stale: null,
    counted: new Map(),
    appliedRuns: new Set(),
    ...more,
  };
}
