import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HistoryDay, usageDays } from '../../../../lambda/domain/history.ts';
import { dayAfter, daysBetween } from '../../../../lambda/rules/text.ts';

const today = '2026-11-21';
const noted = (day: string, storedBytes: number, more: Partial<HistoryDay> = {}): HistoryDay => ({
  day,
  storedBytes,
  objectCount: 1,
  maxStoredBytes: storedBytes,
  refusals: 0,
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
      noted('2026-11-18', 10, { maxStoredBytes: 90, refusals: 3 }),
      noted('2026-11-20', 20),
    ]);
    expect(days).toEqual([
      { ...noted('2026-11-18', 10, { maxStoredBytes: 90, refusals: 3 }), isCarried: false },
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
    const now = { storedBytes: 50, objectCount: 5 };
    expect(show([], { now })).toEqual([{ ...noted(today, 50, { objectCount: 5 }), isCarried: true }]);
    expect(show([noted('2026-11-20', 80)], { now }).at(-1)).toEqual({
      ...noted(today, 50, { objectCount: 5, maxStoredBytes: 80 }),
      isCarried: true,
    });
    expect(show([noted(today, 70, { maxStoredBytes: 90, refusals: 2 })], { now }).at(-1)).toEqual({
      ...noted(today, 50, { objectCount: 5, maxStoredBytes: 90, refusals: 2 }),
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
