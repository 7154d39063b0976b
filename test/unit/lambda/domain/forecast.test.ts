import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forecastDays, forecastOf } from '../../../../lambda/domain/forecast.ts';
import { dayAfter } from '../../../../lambda/rules/text.ts';

const today = '2026-11-21';
/** The last one is today. */
const daysOf = (values: readonly number[]) =>
  values.map((storedBytes, index) => ({
    day: dayAfter(today, index + 1 - values.length),
    storedBytes,
    objectCount: 1,
    maxStoredBytes: storedBytes,
    refusals: 0,
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
    expect(forecast([], 100)).toEqual(none('not-counted', null));
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
