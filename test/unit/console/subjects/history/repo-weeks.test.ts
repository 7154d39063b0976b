import { describe, expect, it } from 'vitest';
import { addedByWeek, weekPoints } from '../../../../../console/src/subjects/history/repo-weeks.ts';

describe('weekly points of a repo', () => {
  it('say what each week added, and nothing of what is not known', () => {
    expect(addedByWeek([null, 10, 30, 25, null, 40])).toEqual([null, 20, -5, null, null]);
    expect(addedByWeek([])).toEqual([]);
    expect(addedByWeek([7])).toEqual([]);
  });

  it.each([
    // A Thursday, a Sunday and a Monday.
    ['2026-11-26', ['2026-11-15', '2026-11-22', '2026-11-26']],
    ['2026-11-29', ['2026-11-15', '2026-11-22', '2026-11-29']],
    ['2026-11-30', ['2026-11-22', '2026-11-29', '2026-11-30']],
  ])('end on Sundays, and today on %s', (today, days) => {
    const nowMs = Date.parse(`${today}T12:00:00Z`);
    const points = weekPoints([null, 5, null, 9], { limitBytes: 100, nowMs });
    expect(points.map(({ day }) => day)).toEqual(days);
    expect(points.map(({ storedBytes }) => storedBytes)).toEqual([5, 5, 9]);
    expect(points.map(({ limitBytes }) => limitBytes)).toEqual([undefined, undefined, 100]);
  });

  it('are none if no week is known', () => {
    expect(weekPoints([null, null], { limitBytes: null, nowMs: 0 })).toEqual([]);
    expect(weekPoints([], { limitBytes: null, nowMs: 0 })).toEqual([]);
  });
});
