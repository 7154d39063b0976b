import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayTicks, ticksOf, topOf } from '../../../../../console/src/subjects/history/chart-figures.ts';
import { bytesText, lastDays } from '../../../../../console/src/text.ts';

const gib = 1024 ** 3;
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('the chart', () => {
  it('ends above the limit, if that is near', () => {
    expect(topOf(100, 120)).toBeCloseTo(129.6);
    expect(topOf(100, 90)).toBeCloseTo(108);
    expect(topOf(100, 501)).toBeCloseTo(108);
    expect(topOf(100, null)).toBeCloseTo(108);
    expect(topOf(0, 0)).toBeGreaterThan(0);
  });

  it('has two to five round figures on its axis', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 2 ** 52 }), (top) => {
        const ticks = ticksOf(top);
        expect(ticks.length).toBeGreaterThanOrEqual(2);
        expect(ticks.length).toBeLessThanOrEqual(5);
        expect(ticks[0]).toBe(0);
        for (const tick of ticks) expect(tick).toBeLessThan(top);
      }),
    );
    expect(
      ticksOf(540 * gib)
        .map(bytesText)
        .map(plain),
    ).toEqual(['0 B', '200 GiB', '400 GiB']);
  });

  it('names first days of quarters, of months, or a day in each week', () => {
    const days = lastDays(400, Date.parse('2026-11-23T05:00:00Z'));
    expect(days[0]).toBe('2025-10-20');
    expect(dayTicks(days).map(({ text }) => text)).toEqual(['2026', 'Apr', 'Jul', 'Oct']);
    expect(dayTicks(days.slice(-90)).map(({ text }) => text)).toEqual(['Sep', 'Oct', 'Nov']);
    expect(dayTicks(days.slice(-30)).map(({ text }) => text)).toEqual([
      '30 Oct',
      '6 Nov',
      '13 Nov',
      '20 Nov',
    ]);
  });
});
