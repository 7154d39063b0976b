import { describe, expect, it } from 'vitest';
import {
  daysAhead,
  lineOf,
  type Point,
  ringsOf,
  stepsOf,
  topOfPoints,
} from '../../../../../console/src/subjects/history/chart-figures.ts';

const point = (change: Partial<Point>): Point => ({
  day: '2026-11-20',
  storedBytes: 100,
  usedBytes: 100,
  limitBytes: null,
  refusals: 0,
  ...change,
});

describe('the chart of what is stored', () => {
  it.each([
    ['what is stored', [point({}), point({ usedBytes: 130 })], 0, 130],
    ['a forecast', [point({})], 170, 170],
    ['a limit that is near', [point({ limitBytes: 300 }), point({ limitBytes: 200 })], 0, 300],
    ['no limit that is far', [point({ limitBytes: 501 })], 0, 100],
    ['no limit that is unknown', [point({ limitBytes: undefined })], 0, 100],
  ])('ends above %s', (_what, points, forecast, most) => {
    expect(topOfPoints(points, forecast)).toBeCloseTo(most * 1.08);
  });

  it.each([
    ['as long as it grows', { fullOn: null, bytesPerDay: 5 }, 400, 100],
    ['until the limit', { fullOn: '2026-12-01', bytesPerDay: 5 }, 400, 11],
    ['for a quarter of what is shown', { fullOn: '2027-11-20', bytesPerDay: 5 }, 30, 8],
    ['not, if it is full', { fullOn: '2026-11-20', bytesPerDay: 5 }, 30, 0],
    ['not, if it shrinks', { fullOn: null, bytesPerDay: -5 }, 30, 0],
    ['not, if nothing is known', { fullOn: null, bytesPerDay: null }, 30, 0],
  ])('looks ahead %s', (_how, forecast, days, expected) => {
    expect(daysAhead({ reason: null, ...forecast }, days, '2026-11-20')).toBe(expected);
  });

  it('has a line that is broken where nothing is known', () => {
    expect(lineOf([[0, 1], [1, 2], undefined, [3, 4], [5, 6]])).toBe('M0.0,1.0L1.0,2.0M3.0,4.0L5.0,6.0');
    expect(lineOf([])).toBe('');
  });

  it('has the limit of each day, until the next one', () => {
    const points = [200, 200, undefined, null, 300].map((limitBytes) => point({ limitBytes }));
    const path = stepsOf(
      points,
      (index) => index * 10,
      (bytes) => 1000 - bytes,
    );
    expect(path).toBe('M0.0,800.0L10.0,800.0L10.0,800.0L20.0,800.0M40.0,700.0L40.0,700.0');
  });

  it('has a ring for each day with rejected pushes, and one for those that would cover each other', () => {
    const points = [1, 0, 0, 2, 3, 0, 0, 0, 0, 4].map((refusals) => point({ refusals }));
    expect(ringsOf(points, 1)).toEqual([
      { index: 0, count: 1 },
      { index: 3, count: 2 },
      { index: 4, count: 3 },
      { index: 9, count: 4 },
    ]);
    expect(ringsOf(points, 3)).toEqual([
      { index: 0, count: 1 },
      { index: 4, count: 5 },
      { index: 9, count: 4 },
    ]);
    expect(ringsOf(points, 20)).toEqual([{ index: 9, count: 10 }]);
    expect(ringsOf([point({})], 3)).toEqual([]);
  });
});
