import { describe, expect, it } from 'vitest';
import { fullCountsOf, type RecountPolicy, recountsOfPush } from '../../../cost/recount-times.ts';
import { defaultWorkload } from '../../../cost/workload.ts';
import { dueAfterFullMs } from '../../../lambda/domain/recount-policy.ts';
import { defaultSettings } from '../../../lambda/domain/settings.ts';

const policy: RecountPolicy = defaultWorkload.refresh;
const hour = 3_600_000;

describe('the recounts of a push', () => {
  /** Of one batch, whose last upload is verified. */
  const of = (pushSeconds: number, more: { scanRequests?: number; triggers?: readonly number[] } = {}) =>
    recountsOfPush({ pushSeconds, triggers: [0, pushSeconds], scanRequests: 1, policy, ...more });

  it('are one scan if the whole push is in one window', () => {
    expect(of(0)).toEqual({ thatScan: 1, thatDoNot: 0, deferred: 0 });
  });

  it('are two for a push of 30 s: the second is deferred once', () => {
    expect(of(30)).toEqual({ thatScan: 1, thatDoNot: 1, deferred: 1 });
  });

  it('are about one per minute for a push of ten minutes with many batches', () => {
    const triggers = Array.from({ length: 100 }, (_, index) => index * 6);
    const { thatScan, thatDoNot, deferred } = of(600, { triggers: [...triggers, 600] });
    expect(thatScan).toBeGreaterThan(8);
    expect(thatScan).toBeLessThan(12);
    expect(thatDoNot).toBeLessThan(1);
    // One message per 30 s, and each is recounted or deferred.
    expect(thatScan + thatDoNot + deferred).toBeGreaterThan(20);
    expect(thatScan + thatDoNot + deferred).toBeLessThan(26);
  });

  it('come later and later in a push of ten minutes with one batch', () => {
    // 35 s after the batch and after the verify, and in between by the schedule.
    expect(of(600).thatScan).toBe(5);
  });

  it('are deferred longer if a scan is expensive', () => {
    // 1,200 requests are the budget of an hour, and five minutes may be overdrawn: 55 minutes of 35 s each.
    const { thatScan, thatDoNot, deferred } = of(30, { scanRequests: 1200 });
    expect([thatScan, thatDoNot]).toEqual([1, 1]);
    expect(deferred).toBeGreaterThan((55 * 60) / 35 - 2);
    expect(deferred).toBeLessThan((55 * 60) / 35 + 2);
  });

  it('include a second one only if a trigger comes late', () => {
    expect(of(0, { triggers: [0, 20] }).thatScan).toBe(1);
    expect(of(0, { triggers: [0, 20] }).thatDoNot).toBeCloseTo(20 / 30, 10);
  });
});

describe('full counts', () => {
  const of = (activeTimes: number) => fullCountsOf({ activeTimes, monthHours: 720, policy });

  it('of a busy tenant come slightly more often than once a day', () => {
    expect(of(60)).toEqual({ perMonth: expect.closeTo(720 / 22.8, 10), staleShare: 0 });
  });

  it('of an idle tenant come once in the longest interval', () => {
    const { perMonth, staleShare } = of(0);
    expect(perMonth).toBeCloseTo(1 / 0.95, 10);
    expect(staleShare).toBeCloseTo(1 - 24 / 684, 10);
  });

  it('of a tenant that is used once a month come after 1, 2, 4, 7 and 14 days', () => {
    // Intervals begin with 22.8 h and grow by 1.9: at 22.8, 66, 148, 305 and 602 h.
    expect(of(1).perMonth).toBe(5);
  });

  it('are due when the policy says', () => {
    const tenants = Array.from({ length: 1000 }, (_, index) => `tenant-${index}`);
    const meanHours = (unchangedForMs: number) => {
      const due = tenants.map((tenant) =>
        dueAfterFullMs(defaultSettings, {
          tenant,
          epoch: 1,
          countedAtMs: 0,
          listedUntilMs: 0,
          unchangedForMs,
        }),
      );
      return due.reduce((sum, dueAtMs) => sum + dueAtMs, 0) / due.length / hour;
    };
    expect(meanHours(0) / 22.8).toBeCloseTo(1, 2);
    expect(meanHours(48 * hour) / (0.95 * 96)).toBeCloseTo(1, 2);
    expect(meanHours(1000 * hour) / (0.95 * 720)).toBeCloseTo(1, 2);
  });
});
