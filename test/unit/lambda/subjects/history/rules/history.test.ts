import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayAfter, daysBetween } from '../../../../../../lambda/core/rules/dates.ts';
import {
  forecastDays,
  forecastOf,
  type HistoryDay,
  type NotedWeek,
  RefusalTally,
  tallyTenantsMax,
  usageDays,
  weekOf,
  weeksOf,
} from '../../../../../../lambda/subjects/history/rules/history.ts';

describe('forecast', () => {
  const today = '2026-11-21';
  /** The last one is today. */
  const daysOf = (values: readonly number[]) =>
    values.map((storedBytes, index) => ({
      day: dayAfter(today, index + 1 - values.length),
      storedBytes,
      objectCount: 1,
      maxStoredBytes: storedBytes,
      refusals: 0,
      repoRefusals: 0,
      isCarried: false,
    }));
  const forecast = (values: readonly number[], limitBytes: number | null) =>
    forecastOf({ days: daysOf(values), limitBytes });
  const line = (count: number, from: number, slope: number) =>
    Array.from({ length: count }, (_, index) => from + slope * index);

  describe('a forecast', () => {
    it('goes on with the growth from what is stored now', () => {
      // 10 bytes a day, 160 now.
      expect(forecast(line(7, 100, 10), 200)).toEqual({ kind: 'full', day: '2026-11-25', bytesPerDay: 10 });
      expect(forecast(line(7, 100, 10), 201)).toMatchObject({ day: '2026-11-26' });
      expect(forecast(line(7, 100, 10), 161)).toMatchObject({ day: '2026-11-22' });
    });

    it('is today if the limit is reached', () => {
      for (const limitBytes of [160, 100, 0])
        expect(forecast(line(7, 100, 10), limitBytes)).toEqual({ kind: 'full', day: today, bytesPerDay: 10 });
      expect(forecast([5], 5)).toEqual({ kind: 'full', day: today, bytesPerDay: null });
    });

    it('is none, and says why', () => {
      const none = (reason: string, bytesPerDay: number | null) => ({ kind: 'none', reason, bytesPerDay });
      expect(forecast(line(7, 100, 10), null)).toEqual(none('unlimited', 10));
      expect(forecast([], 100)).toEqual(none('not-scanned', null));
      expect(forecast([], null)).toEqual(none('unlimited', null));
      expect(forecast(line(6, 100, 10), 200)).toEqual(none('too-few-days', null));
      expect(forecast(line(7, 100, 0), 200)).toEqual(none('not-growing', 0));
      expect(forecast(line(7, 160, -10), 200)).toEqual(none('not-growing', -10));
    });

    it('looks two years ahead', () => {
      expect(forecast(line(7, 0, 1), 6 + 731)).toMatchObject({ kind: 'full', day: '2028-11-21' });
      expect(forecast(line(7, 0, 1), 6 + 732)).toEqual({
        kind: 'none',
        reason: 'beyond-two-years',
        bytesPerDay: 1,
      });
    });

    it('is not moved by one large push, or one delete', () => {
      const pushed = line(30, 100, 10).map((bytes, index) => bytes + (index >= 20 ? 5000 : 0));
      expect(forecast(pushed, 10_000).bytesPerDay).toBeLessThan(300);
      const flat = Array.from({ length: 30 }, (_, index) => (index >= 25 ? 5000 : 100));
      expect(forecast(flat, 10_000)).toMatchObject({ reason: 'not-growing' });
      const cleaned = line(30, 1000, 10).map((bytes, index) => bytes - (index >= 28 ? 900 : 0));
      expect(forecast(cleaned, 10_000).bytesPerDay).toBe(10);
    });

    it('takes the middle of two slopes', () => {
      const values = [0, 0, 0, 0, 0, 0, 21, 21];
      expect(forecast(values, 1000).bytesPerDay).toBe(0);
      // 21 slopes of 7 days, 28 of 8: an odd and an even number.
      expect(forecast([0, 1, 4, 9, 16, 25, 36], 1000).bytesPerDay).toBe(6);
      expect(forecast([0, 1, 4, 9, 16, 25, 36, 49], 1000).bytesPerDay).toBe(7);
    });

    it('looks at the last 60 days only', () => {
      const values = [...line(300, 5000, 100), ...line(forecastDays, 100, 2)];
      expect(forecast(values, 10_000).bytesPerDay).toBe(2);
    });

    const histories = fc.array(fc.nat(1_000_000), { minLength: 7, maxLength: 80 });

    it('is the same wherever days stand and in whichever unit', () => {
      fc.assert(
        fc.property(histories, fc.integer({ min: 1, max: 1000 }), (values, factor) => {
          const [plain, scaled] = [
            forecast(values, 2_000_000),
            forecast(
              values.map((bytes) => bytes * factor),
              2_000_000 * factor,
            ),
          ];
          expect(scaled.bytesPerDay).toBeCloseTo((plain.bytesPerDay ?? Number.NaN) * factor, 3);
        }),
      );
    });

    it('is never before a lower limit is reached, and never in the past', () => {
      fc.assert(
        fc.property(histories, fc.nat(2_000_000), fc.nat(2_000_000), (values, a, b) => {
          const [lower, higher] = [forecast(values, Math.min(a, b)), forecast(values, Math.max(a, b))];
          if (higher.kind !== 'full') return;
          expect(lower.kind).toBe('full');
          if (lower.kind === 'full') expect(lower.day <= higher.day && lower.day >= today).toBe(true);
        }),
      );
    });

    it('of steady growth is exact, also if every tenth day is far off', () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 20, max: 60 }),
          fc.integer({ min: 1, max: 1000 }),
          fc.nat(100_000),
          (count, slope, off) => {
            const values = line(count, 1_000_000, slope).map((bytes, index) =>
              index % 10 === 5 ? off : bytes,
            );
            expect(forecast(values, 10_000_000).bytesPerDay).toBe(slope);
          },
        ),
      );
    });
  });
});

describe('history', () => {
  const today = '2026-11-21';
  const noted = (day: string, storedBytes: number, more: Partial<HistoryDay> = {}): HistoryDay => ({
    day,
    storedBytes,
    objectCount: 1,
    maxStoredBytes: storedBytes,
    maxUsedBytes: storedBytes,
    limitBytes: 1000,
    refusals: 0,
    repoRefusals: 0,
    ...more,
  });
  const show = (days: HistoryDay[], more: Partial<Parameters<typeof usageDays>[0]> = {}) =>
    usageDays({ days, from: '2026-11-18', to: today, today, now: null, ...more });

  describe('the days of a tenant', () => {
    it('are none if nothing is known', () => {
      expect(show([])).toEqual([]);
    });

    it('carry the last figures over days of which nothing was noted, but neither refusals nor a peak', () => {
      const days = show([
        noted('2026-11-18', 10, { maxStoredBytes: 90, maxUsedBytes: 95, refusals: 3, repoRefusals: 1 }),
        noted('2026-11-20', 20),
      ]);
      expect(days).toEqual([
        {
          ...noted('2026-11-18', 10, { maxStoredBytes: 90, maxUsedBytes: 95, refusals: 3, repoRefusals: 1 }),
          isCarried: false,
        },
        { ...noted('2026-11-19', 10), isCarried: true },
        { ...noted('2026-11-20', 20), isCarried: false },
        { ...noted('2026-11-21', 20), isCarried: true },
      ]);
    });

    it('begin with what was known before the first one that is asked for', () => {
      const days = show([noted('2026-10-30', 10)]);
      expect(days.map(({ day, storedBytes }) => [day, storedBytes])).toEqual([
        ['2026-11-18', 10],
        ['2026-11-19', 10],
        ['2026-11-20', 10],
        ['2026-11-21', 10],
      ]);
    });

    it('begin with the first that is known, if that is later', () => {
      expect(show([noted('2026-11-20', 10)]).map(({ day }) => day)).toEqual(['2026-11-20', '2026-11-21']);
    });

    it('end with what is stored now, whether or not that was noted', () => {
      const now = { storedBytes: 50, objectCount: 5, usedBytes: 60, limitBytes: 900 };
      const shown = { objectCount: 5, maxUsedBytes: 60, limitBytes: 900 };
      expect(show([], { now })).toEqual([{ ...noted(today, 50, shown), isCarried: true }]);
      expect(show([noted('2026-11-20', 80)], { now }).at(-1)).toEqual({
        ...noted(today, 50, { ...shown, maxStoredBytes: 80, maxUsedBytes: 80 }),
        isCarried: true,
      });
      const refused = { maxStoredBytes: 90, maxUsedBytes: 99, refusals: 2, repoRefusals: 1 };
      expect(show([noted(today, 70, refused)], { now }).at(-1)).toEqual({
        ...noted(today, 50, { ...shown, ...refused }),
        isCarried: false,
      });
      // Of an earlier day it says nothing.
      expect(show([noted('2026-11-19', 80)], { now, to: '2026-11-20' }).at(-1)).toMatchObject({
        storedBytes: 80,
      });
    });

    it('have no gaps, and each has the figures of the last one noted', () => {
      const days = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.nat(1000)), {
        selector: ([ago]) => ago,
      });
      fc.assert(
        fc.property(days, fc.nat(50), (some, back) => {
          const all = some
            .map(([ago, bytes]) => noted(dayAfter(today, -ago), bytes))
            .sort((a, b) => (a.day < b.day ? -1 : 1));
          const from = dayAfter(today, -back);
          const shown = show(all, { from });
          for (const [index, each] of shown.entries()) {
            expect(daysBetween(shown[0]?.day ?? '', each.day)).toBe(index);
            expect(each.storedBytes).toBe(all.findLast(({ day }) => day <= each.day)?.storedBytes);
          }
          expect(shown.at(-1)?.day).toBe(all.length > 0 ? today : undefined);
        }),
      );
    });
  });
});

describe('the weeks of a repo', () => {
  // A Saturday. The week began on 16 November.
  const nowMs = Date.UTC(2026, 10, 21, 12);
  const thisWeek = weekOf(nowMs);
  const show = (noted: NotedWeek[], repo?: { storedBytes: number; scannedAtMs: number }, count = 4) =>
    weeksOf({ noted, repo, nowMs, count });

  it('begin on a Monday, in UTC', () => {
    expect(weekOf(Date.UTC(2026, 10, 16))).toBe(thisWeek);
    expect(weekOf(Date.UTC(2026, 10, 16) - 1)).toBe(thisWeek - 1);
    expect(weekOf(Date.UTC(2026, 10, 22, 23, 59))).toBe(thisWeek);
    expect(weekOf(Date.UTC(2026, 10, 23))).toBe(thisWeek + 1);
  });

  it('carry what was known at the end of one before, and end with the last count', () => {
    const noted = [
      { week: thisWeek - 1, storedBytes: 30 },
      { week: thisWeek - 3, storedBytes: 10 },
    ];
    expect(show(noted, { storedBytes: 40, scannedAtMs: nowMs })).toEqual([10, 10, 30, 40]);
    expect(show(noted, { storedBytes: 40, scannedAtMs: nowMs }, 6)).toEqual([null, null, 10, 10, 30, 40]);
    expect(show(noted, { storedBytes: 40, scannedAtMs: nowMs }, 2)).toEqual([30, 40]);
  });

  it('have one that was counted long ago as it was, and nothing of one that never was', () => {
    const weeksAgo = (count: number) => nowMs - count * 7 * dayMs;
    expect(show([], { storedBytes: 5, scannedAtMs: weeksAgo(2) })).toEqual([null, 5, 5, 5]);
    expect(show([], { storedBytes: 5, scannedAtMs: weeksAgo(300) })).toEqual([5, 5, 5, 5]);
    expect(show([{ week: thisWeek - 99, storedBytes: 3 }])).toEqual([3, 3, 3, 3]);
    expect(show([])).toEqual([null, null, null, null]);
  });
});

const noonMs = Date.UTC(2026, 10, 21, 12);
const dayMs = 86_400_000;

describe('the tally of refusals', () => {
  it('writes the first ten one by one, then one write in ten seconds, and loses none', () => {
    const tally = new RefusalTally();
    const written = Array.from({ length: 12 }, () => tally.add('acme', noonMs));
    expect(written).toEqual([...Array(10).fill(1), 0, 0]);
    expect(tally.add('acme', noonMs + 9999)).toBe(0);
    expect(tally.add('acme', noonMs + 10_000)).toBe(4);
    expect(tally.add('acme', noonMs + 10_001)).toBe(0);
    expect(tally.add('acme', noonMs + 20_001)).toBe(2);
  });

  it('of a client in a loop is bounded', () => {
    const tally = new RefusalTally();
    let [writes, refusals] = [0, 0];
    for (let ms = 0; ms < 3_600_000; ms += 200) {
      const count = tally.add('acme', noonMs + ms);
      writes += count > 0 ? 1 : 0;
      refusals += count;
    }
    expect(writes).toBe(10 + 359);
    expect(refusals).toBeGreaterThan(18_000 - 51);
  });

  it('writes one by one again after a rest', () => {
    const tally = new RefusalTally();
    for (let index = 0; index < 20; index += 1) tally.add('acme', noonMs);
    expect(tally.add('acme', noonMs + 100_000)).toBe(11);
    const later = Array.from({ length: 10 }, () => tally.add('acme', noonMs + 100_000));
    expect(later).toEqual([...Array(9).fill(1), 0]);
  });

  it('keeps tenants apart, and begins anew each day', () => {
    const tally = new RefusalTally();
    for (let index = 0; index < 15; index += 1) tally.add('acme', noonMs);
    expect(tally.add('other', noonMs)).toBe(1);
    expect(tally.add('acme', noonMs + dayMs)).toBe(1);
  });

  it('takes back what was not written', () => {
    const tally = new RefusalTally();
    expect(tally.add('acme', noonMs)).toBe(1);
    tally.giveBack('acme', 1, noonMs);
    expect(tally.add('acme', noonMs)).toBe(2);
    expect(tally.add('acme', noonMs)).toBe(1);
  });

  it('survives a clock that goes back', () => {
    const tally = new RefusalTally();
    for (let index = 0; index < 11; index += 1) tally.add('acme', noonMs);
    expect(tally.add('acme', noonMs - 5000)).toBe(0);
    expect(tally.add('acme', noonMs + 5000)).toBe(3);
  });

  it('remembers so many tenants, and forgets the one that was refused longest ago', () => {
    const tally = new RefusalTally();
    for (let index = 0; index < 11; index += 1) tally.add('first', noonMs);
    for (let index = 0; index < 11; index += 1) tally.add('second', noonMs);
    for (let index = 0; index < tallyTenantsMax - 2; index += 1) tally.add(`t${index}`, noonMs);
    expect(tally.add('first', noonMs)).toBe(0);
    tally.add('one-more', noonMs);
    expect(tally.add('first', noonMs)).toBe(0);
    expect(tally.add('second', noonMs)).toBe(1);
  });
});
