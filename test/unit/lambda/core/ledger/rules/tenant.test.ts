import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  confirmedBytes,
  dirtyTokenOf,
  isChangeUnknown,
  isGone,
  isThere,
  listsOfMonth,
  overtakenEpochOf,
  pointBefore,
  pointsAfter,
  repoConfirmedBytes,
  type StoredPoint,
  storedPointsMax,
  type TenantRecord,
  unknownRepo,
} from '../../../../../../lambda/core/ledger/rules/tenant.ts';
import { dayAfter, dayMs, dayOf, daysBetween } from '../../../../../../lambda/core/rules/dates.ts';
import { tenantRecord } from '../../../../../support/tenant-record.ts';

const lastMomentOfNovember = Date.UTC(2026, 11, 1) - 1;

it('the LIST requests for shards are those of the calendar month, in UTC', () => {
  const november = { month: '2026-11', requests: 7 };
  expect(listsOfMonth(november, lastMomentOfNovember)).toEqual(november);
  expect(listsOfMonth(november, lastMomentOfNovember + 1)).toEqual({ month: '2026-12', requests: 0 });
  expect(listsOfMonth(undefined, lastMomentOfNovember)).toEqual({ month: '2026-11', requests: 0 });
});

const startMs = Date.parse('2026-11-21T00:00:00Z');
const at = (days: number) => startMs + days * dayMs;
const day = (days: number) => dayOf(at(days));

describe('what a repo stored before', () => {
  it('is noted when it is counted again on a later day', () => {
    expect(pointsAfter(undefined, { scannedAtMs: at(0) })).toEqual([]);
    const first = { storedBytes: 5, scannedAtMs: at(0) };
    expect(pointsAfter(first, { scannedAtMs: at(0.9) })).toEqual([]);
    expect(pointsAfter(first, { scannedAtMs: at(1) })).toEqual([{ day: day(0), storedBytes: 5 }]);
    // A count of shards may say an earlier time.
    expect(pointsAfter(first, { scannedAtMs: at(-1) })).toEqual([]);
  });

  it('is noted once in seven days', () => {
    const points = [{ day: day(0), storedBytes: 5 }];
    const scanned = (days: number) => ({ storedBytes: 6, scannedAtMs: at(days), points });
    expect(pointsAfter(scanned(6), { scannedAtMs: at(7) })).toEqual(points);
    expect(pointsAfter(scanned(7), { scannedAtMs: at(8) })).toEqual([
      ...points,
      { day: day(7), storedBytes: 6 },
    ]);
  });

  it('is forgotten once a newer point is 30 days old', () => {
    const points = [0, 10, 20].map((days) => ({ day: day(days), storedBytes: days }));
    const scanned = { storedBytes: 6, scannedAtMs: at(39), points };
    const next = { day: day(39), storedBytes: 6 };
    expect(pointsAfter({ ...scanned, scannedAtMs: at(38) }, { scannedAtMs: at(39) })[0]).toEqual(points[0]);
    expect(pointsAfter(scanned, { scannedAtMs: at(40) })).toEqual([points[1], points[2], next]);
  });

  it('is the newest of 30 days ago, or the first that is known', () => {
    const points = [0, 10].map((days) => ({ day: day(days), storedBytes: days }));
    const repo = { storedBytes: 7, scannedAtMs: at(20), points };
    expect(pointBefore(repo, day(39))).toEqual(points[0]);
    expect(pointBefore(repo, day(40))).toEqual(points[1]);
    expect(pointBefore(repo, day(49))).toEqual(points[1]);
    // It has not changed since.
    expect(pointBefore(repo, day(50))).toEqual({ day: day(20), storedBytes: 7 });
    expect(pointBefore(repo, day(20))).toEqual(points[0]);
    expect(pointBefore({ storedBytes: 7, scannedAtMs: at(20) }, day(21))).toEqual({
      day: day(20),
      storedBytes: 7,
    });
    expect(pointBefore({ storedBytes: 7, scannedAtMs: at(20) }, day(20))).toBeUndefined();
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
            { storedBytes: number; scannedAtMs: number } | undefined,
          ] = [[], undefined];
          let nowMs = startMs;
          for (const { afterMs, storedBytes } of counts) {
            nowMs += afterMs;
            points = pointsAfter(last && { ...last, points }, { scannedAtMs: nowMs });
            last = { storedBytes, scannedAtMs: nowMs };
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

const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: 11 };
const tenant = tenantRecord({
  confirmedBaseBytes: 50,
  confirmedUntilMs: 1000,
  deletedBytes: 20,
  scanned,
  closedAtMs: 10,
});

describe('a confirmed usage', () => {
  it('is what was found, without everything that was deleted since, and never negative', () => {
    expect(confirmedBytes(tenant, 999)).toBe(30);
    expect(confirmedBytes({ ...tenant, deletedBytes: 60 }, 0)).toBe(0);
  });

  it('proves nothing from the moment it expires, nor in a tenant that was never counted', () => {
    expect(confirmedBytes(tenant, 1000)).toBeUndefined();
    expect(confirmedBytes({ ...tenant, scanned: null }, 0)).toBeUndefined();
  });
});

describe('the confirmed usage of a repo that has a limit', () => {
  const scanned = { committedBytes: 90, storedBytes: 80, confirmedBaseBytes: 70, confirmedUntilMs: 500 };
  const confirmedAt = (nowMs: number, counts: typeof scanned | null = scanned) =>
    repoConfirmedBytes(tenant, { limit: { limitBytes: 100, scanned: counts }, nowMs });

  it('is what was found in it, without everything that was deleted since from its tenant, until it expires', () => {
    expect([confirmedAt(499), confirmedAt(500)]).toEqual([50, undefined]);
  });

  it('proves nothing until it is counted', () => {
    expect(confirmedAt(499, null)).toBeUndefined();
  });
});

describe('a repo', () => {
  const unknown = unknownRepo('app');

  it('that no scan has counted has nothing, and is open', () => {
    expect(unknown).toEqual({
      repo: 'app',
      storedBytes: 0,
      objectCount: 0,
      scannedAtMs: 0,
      epoch: 0,
      putsUntilMs: 0,
      dirtyToken: null,
      covered: new Set(),
      closedAtMs: null,
    });
  });

  it('is there if somebody created it, or a scan found an object', () => {
    expect(isThere(unknown)).toBe(false);
    expect(isThere({ ...unknown, createdAtMs: 0 })).toBe(true);
    expect(isThere({ ...unknown, epoch: 1, objectCount: 1 })).toBe(true);
    expect(isThere({ ...unknown, epoch: 1 })).toBe(false);
    expect(isThere({ ...unknown, objectCount: 1 })).toBe(false);
  });
});

describe('the newest epoch that may still write', () => {
  it('is the last one, if it was not applied', () => {
    expect(overtakenEpochOf({ ...tenant, epoch: 7, appliedEpoch: 6, overtakenEpoch: 3 })).toBe(7);
  });

  it('is the one that was overtaken before, if the last one was applied', () => {
    expect(overtakenEpochOf({ ...tenant, epoch: 7, appliedEpoch: 7, overtakenEpoch: 3 })).toBe(3);
  });
});

describe('a closed tenant', () => {
  it('is gone when a count that began after its closing found nothing, and nothing is promised', () => {
    expect(isGone(tenant)).toBe(true);
  });

  it.each<[string, Partial<TenantRecord>]>([
    ['it is open', { closedAtMs: null }],
    ['it was never counted', { scanned: null }],
    ['its count began with its closing', { closedAtMs: 11 }],
    ['an object is left', { scanned: { ...scanned, objectCount: 1 } }],
    ['an upload is promised', { committedBytes: 1 }],
  ])('is not gone if %s', (_, change) => {
    expect(isGone({ ...tenant, ...change })).toBe(false);
  });
});

describe('what changed in a repo', () => {
  const random = 'removed'.repeat(2);

  it('is known if it was a delete that left a record of what it removed', () => {
    const dirtyToken = dirtyTokenOf({ random, isRecorded: true });
    expect(dirtyToken).toBe(`removed-${random}`);
    expect(isChangeUnknown({ dirtyToken })).toBe(false);
  });

  it('is unknown after any other delete', () => {
    const dirtyToken = dirtyTokenOf({ random, isRecorded: false });
    expect(dirtyToken).toBe(random);
    expect(isChangeUnknown({ dirtyToken })).toBe(true);
    expect(isChangeUnknown({ dirtyToken: 'is-removed-' })).toBe(true);
  });

  it('is nothing without a token', () => {
    expect(isChangeUnknown({ dirtyToken: null })).toBe(false);
  });
});
