import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../lambda/domain/settings.ts';

const settings = defaultSettings;

/** What docs/ledger.md promises holds with the defaults. A stage is checked when it is synthesized. */
describe('by default', () => {
  it.each(Object.entries(settings))('%s is a whole number, %d', (_, value) => {
    expect(Number.isSafeInteger(value)).toBe(true);
    expect(value).toBeGreaterThan(0);
  });

  it('a batch is over long before its reservation is voided, by every clock', () => {
    expect(settings.pendingVoidAfterMs).toBeGreaterThan(settings.batchTimeLimitMs + 2 * settings.clockSkewMs);
  });

  it('a batch has time for a reconcile at the limit, and for its answer', () => {
    expect(settings.inlineReconcileBudgetMs).toBeLessThan(settings.batchTimeLimitMs - 5000);
  });

  it('a reservation outlives its URLs by more than what clocks may differ', () => {
    expect(settings.reservationSlackMs).toBeGreaterThan(2 * settings.clockSkewMs);
    expect(settings.urlLifetimeMs).toBeGreaterThan(settings.reservationSlackMs);
  });

  it('no batch is running any more when what it found marked is deleted', () => {
    expect(settings.deleteGraceMs).toBeGreaterThan(settings.batchTimeLimitMs + 2 * settings.clockSkewMs);
  });

  it('the largest object is the largest that S3 takes in one PUT, and has an hour and a half to arrive', () => {
    expect(settings.objectBytesMax).toBe(5_368_709_120);
    expect((settings.objectBytesMax / settings.putMinBytesPerSecond) * 1000).toBeLessThan(5_400_000);
  });

  it('the body of a batch has a thousand bytes for each object', () => {
    expect(settings.bodyBytesMax).toBe(1_048_576);
    expect(settings.bodyBytesMax / settings.batchObjectsMax).toBeGreaterThan(1000);
  });

  it('an idle tenant is counted every 30 days, and a busy one every day', () => {
    expect(settings.idleRefreshMaxMs).toBe(30 * settings.maxAgeMs);
    expect(settings.maxAgeMs).toBe(86_400_000);
  });

  it('a clean-up may take 30 days, and has a watch of a day', () => {
    expect(settings.cleanupLimitMs).toBe(30 * 86_400_000);
    expect(settings.cleanupWatchMs).toBe(86_400_000);
  });

  it('each shard of a giant is scanned once in 7 days', () => {
    expect(settings.shardRoundMs).toBe(7 * settings.maxAgeMs);
  });
});
