import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  pointBefore,
  pointsAfter,
  type StoredPoint,
  storedPointsMax,
} from '../../../../lambda/domain/stored-points.ts';
import { dayAfter, dayMs, dayOf, daysBetween } from '../../../../lambda/rules/text.ts';

const startMs = Date.parse('2026-11-21T00:00:00Z');
const at = (days: number) => startMs + days * dayMs;
const day = (days: number) => dayOf(at(days));

describe('what a repo stored before', () => {
  it('is noted when it is counted again on a later day', () => {
    expect(pointsAfter(undefined, { countedAtMs: at(0) })).toEqual([]);
    const first = { storedBytes: 5, countedAtMs: at(0) };
    expect(pointsAfter(first, { countedAtMs: at(0.9) })).toEqual([]);
    expect(pointsAfter(first, { countedAtMs: at(1) })).toEqual([{ day: day(0), storedBytes: 5 }]);
    // A count of shards may say an earlier time.
    expect(pointsAfter(first, { countedAtMs: at(-1) })).toEqual([]);
  });

  it('is noted once in seven days', () => {
    const points = [{ day: day(0), storedBytes: 5 }];
    const counted = (days: number) => ({ storedBytes: 6, countedAtMs: at(days), points });
    expect(pointsAfter(counted(6), { countedAtMs: at(7) })).toEqual(points);
    expect(pointsAfter(counted(7), { countedAtMs: at(8) })).toEqual([
      ...points,
      { day: day(7), storedBytes: 6 },
    ]);
  });

  it('is forgotten once a newer point is 30 days old', () => {
    const points = [0, 10, 20].map((days) => ({ day: day(days), storedBytes: days }));
    const counted = { storedBytes: 6, countedAtMs: at(39), points };
    const next = { day: day(39), storedBytes: 6 };
    expect(pointsAfter({ ...counted, countedAtMs: at(38) }, { countedAtMs: at(39) })[0]).toEqual(points[0]);
    expect(pointsAfter(counted, { countedAtMs: at(40) })).toEqual([points[1], points[2], next]);
  });

  it('is the newest of 30 days ago, or the first that is known', () => {
    const points = [0, 10].map((days) => ({ day: day(days), storedBytes: days }));
    const repo = { storedBytes: 7, countedAtMs: at(20), points };
    expect(pointBefore(repo, day(39))).toEqual(points[0]);
    expect(pointBefore(repo, day(40))).toEqual(points[1]);
    expect(pointBefore(repo, day(49))).toEqual(points[1]);
    // It has not changed since.
    expect(pointBefore(repo, day(50))).toEqual({ day: day(20), storedBytes: 7 });
    expect(pointBefore(repo, day(20))).toEqual(points[0]);
    expect(pointBefore({ storedBytes: 7, countedAtMs: at(20) }, day(21))).toEqual({
      day: day(20),
      storedBytes: 7,
    });
    expect(pointBefore({ storedBytes: 7, countedAtMs: at(20) }, day(20))).toBeUndefined();
  });

  it('was stored at the end of its day, however it was counted, and is 30 to 37 days old if it is known', () => {
    const count = fc.record({ afterMs: fc.integer({ min: 0, max: 12 * dayMs }), storedBytes: fc.nat() });
    fc.assert(
      fc.property(
        fc.array(count, { minLength: 1, maxLength: 60 }),
        fc.nat({ max: 50 }),
        (counts, idleDays) => {
          const atEndOf = new Map<string, number>();
          let [points, last]: [
            readonly StoredPoint[],
            { storedBytes: number; countedAtMs: number } | undefined,
          ] = [[], undefined];
          let nowMs = startMs;
          for (const { afterMs, storedBytes } of counts) {
            nowMs += afterMs;
            points = pointsAfter(last && { ...last, points }, { countedAtMs: nowMs });
            last = { storedBytes, countedAtMs: nowMs };
            atEndOf.set(dayOf(nowMs), storedBytes);
            expect(points.length).toBeLessThanOrEqual(storedPointsMax);
          }
          const today = dayAfter(dayOf(nowMs), idleDays);
          const found = last && pointBefore({ ...last, points }, today);
          if (!found) {
            expect([...atEndOf.keys()]).toEqual([today]);
            return;
          }
          expect(found.storedBytes).toBe(atEndOf.get(found.day));
          const from = dayAfter(today, -30);
          const known = [...atEndOf.keys()].filter((each) => each <= from);
          // Of what is known from then, none is newer by a week.
          if (known.length > 0) {
            expect(found.day <= from).toBe(true);
            expect(daysBetween(found.day, known.at(-1) ?? '')).toBeLessThan(7);
          } else expect(found.day).toBe([...atEndOf.keys()][0]);
        },
      ),
    );
  });
});
