import { describe, expect, it } from 'vitest';
import type { RepoReservations } from '../../../../../../lambda/core/ledger/rules/repo-reservations.ts';
import { repoReservations as reservationsOf } from '../../../../../support/ledger-records.ts';

const hour = 3_600_000;
const lapsedAtMs = 100 * hour;
const none: ReadonlySet<string> = new Set();

const scanOf = (...seen: string[]) => ({ storedBytes: 0, objectCount: 0, seen: new Set(seen) });
const entries = (given: Record<string, number>) => ({ entries: new Map(Object.entries(given)) });

describe('a repo needs a scan', () => {
  const needScan = (all: RepoReservations, nowMs: number, ...covered: string[]) =>
    all.needScan({ covered: new Set(covered), nowMs });

  it('for a reservation that is not covered, live or dead', () => {
    expect(needScan(reservationsOf({}), 0)).toBe(true);
    expect(needScan(reservationsOf({}), lapsedAtMs + 1)).toBe(true);
    expect(needScan(reservationsOf({}, {}), 0, 'r0')).toBe(true);
    expect(needScan(reservationsOf({}, {}), 0, 'r0', 'r1')).toBe(false);
    expect(needScan(reservationsOf(), 0)).toBe(false);
  });

  it('for a late one whose day is over, even if its look comes later', () => {
    const unconfirmed = reservationsOf({ lookAtMs: lapsedAtMs + 25 * hour });
    expect(needScan(unconfirmed, lapsedAtMs + 24 * hour)).toBe(false);
    expect(needScan(unconfirmed, lapsedAtMs + 24 * hour + 1)).toBe(true);
  });

  it('for a late one at its time, unless it is covered', () => {
    const unconfirmed = reservationsOf({ lookAtMs: lapsedAtMs + hour });
    expect(needScan(unconfirmed, lapsedAtMs + hour - 1)).toBe(false);
    expect(needScan(unconfirmed, lapsedAtMs + hour)).toBe(true);
    expect(needScan(unconfirmed, lapsedAtMs + hour, 'r0')).toBe(false);
  });
});

describe('a scan covers', () => {
  it('the reservations of which it saw every object, dead or not, and a note without any', () => {
    const all = reservationsOf(entries({ a: 1, b: 2 }), entries({ a: 1 }), entries({}), entries({ c: 1 }));
    expect(all.coveredBy(scanOf('a', 'b'), 0)).toEqual(new Set(['r0', 'r1', 'r2']));
    expect(all.coveredBy(scanOf('a'), lapsedAtMs + 1)).toEqual(new Set(['r1', 'r2']));
  });

  it('at most 5,000, the live ones first', () => {
    const many = (count: number, dead: number) =>
      Array.from({ length: count }, () => ({ entries: new Map(), lapsedAtMs: dead }));
    const all = reservationsOf(...many(4000, 1), ...many(3000, 9));
    const covered = all.coveredBy(scanOf(), 5);
    expect(covered.size).toBe(5000);
    expect([...covered].slice(0, 3000).every((id) => Number(id.slice(1)) >= 4000)).toBe(true);
  });
});

describe('what reservations may still bring', () => {
  const open = (all: RepoReservations, nowMs: number, seen: string[] | undefined, ...covered: string[]) =>
    all.openEntries({
      scanned: { scan: seen && scanOf(...seen), covered: new Set(covered) },
      nowMs,
      clockSkewMs: 1000,
    });

  it('is what the scan did not see, each object once: the largest and the smallest issued size', () => {
    const all = reservationsOf(
      entries({ a: 10, b: 20 }),
      { ...entries({ b: 25, c: 30 }), lapsedAtMs: lapsedAtMs + 5 },
      { ...entries({ b: 1, d: 40 }), state: 'pending' },
    );
    expect(open(all, 0, ['a'])).toEqual({
      live: {
        mostBytes: 25 + 30 + 40,
        leastBytes: 20 + 30,
        leastUntilMs: lapsedAtMs - 2000,
        mostUntilMs: lapsedAtMs + 5,
      },
      unconfirmed: { mostBytes: 0, leastBytes: 0, leastUntilMs: Number.MAX_SAFE_INTEGER, mostUntilMs: 0 },
      unconfirmedBy: new Map(),
      countBy: new Map(),
      newestIssuedMs: 0,
    });
    expect(open(all, 0, ['a', 'b', 'c', 'd']).live).toEqual({
      mostBytes: 0,
      leastBytes: 0,
      leastUntilMs: Number.MAX_SAFE_INTEGER,
      mostUntilMs: 0,
    });
  });

  it('tells whose what is late is, each object for one of them, without what somebody live entries', () => {
    const all = reservationsOf(
      { ...entries({ a: 10, b: 20 }), madeBy: 'ada' },
      { ...entries({ b: 20, c: 5 }), madeBy: 'ben', lapsedAtMs: lapsedAtMs - 5 },
      { ...entries({ d: 7, e: 1 }), madeBy: 'ada', lapsedAtMs: lapsedAtMs - 9 },
      { ...entries({ e: 1, f: 3 }), madeBy: 'cat', lapsedAtMs: 9 * lapsedAtMs },
      entries({ g: 100 }),
    );
    const { unconfirmed, unconfirmedBy } = open(all, lapsedAtMs + 1, ['f']);
    expect(unconfirmed.mostBytes).toBe(10 + 20 + 5 + 7 + 100);
    expect(unconfirmedBy).toEqual(
      new Map([
        ['ada', { bytes: 37, untilMs: lapsedAtMs + 24 * hour }],
        ['ben', { bytes: 5, untilMs: lapsedAtMs - 5 + 24 * hour }],
      ]),
    );
  });

  it('tells how many of each have not arrived, live and late, and until when', () => {
    const all = reservationsOf(
      { ...entries({ a: 10, b: 0, c: 5 }), madeBy: 'ada' },
      { ...entries({ b: 0, d: 1 }), madeBy: 'ada', lapsedAtMs: lapsedAtMs + 9, state: 'pending' },
      { ...entries({ c: 5 }), madeBy: 'ben' },
      { ...entries({ e: 5 }), madeBy: 'cat', lapsedAtMs: lapsedAtMs - 25 * hour },
      entries({ g: 100 }),
    );
    for (const nowMs of [lapsedAtMs, lapsedAtMs + 1])
      expect(open(all, nowMs, ['c']).countBy).toEqual(
        new Map([['ada', { entries: 4, untilMs: lapsedAtMs + 9 + 24 * hour }]]),
      );
  });

  it('is held until the last claim with bytes in it can no longer arrive', () => {
    const all = reservationsOf(
      entries({ a: 10 }),
      { ...entries({ b: 1 }), state: 'pending', lapsedAtMs: lapsedAtMs + 7 },
      { ...entries({ c: 0 }), lapsedAtMs: lapsedAtMs + 9 },
    );
    expect(open(all, 0, []).live.mostUntilMs).toBe(lapsedAtMs + 7);
    expect(open(all, 0, ['b']).live.mostUntilMs).toBe(lapsedAtMs);
    expect(open(all, 0, ['a', 'b']).live.mostUntilMs).toBe(0);
  });

  it('may be under way from when the newest issued one began of which the scan missed something', () => {
    const all = reservationsOf(
      { ...entries({ a: 1, b: 1 }), createdAtMs: 20 },
      { ...entries({ c: 1 }), createdAtMs: 30 },
      { ...entries({ d: 1 }), createdAtMs: 40, state: 'pending' },
      { ...entries({ e: 1 }), createdAtMs: 50, lapsedAtMs: 60 },
      { ...entries({ f: 0 }), createdAtMs: 10 },
    );
    const newest = (seen: string[] | undefined, ...covered: string[]) =>
      open(all, 70, seen, ...covered).newestIssuedMs;
    expect(newest([])).toBe(30);
    expect(newest(['c'])).toBe(20);
    expect(newest(['c', 'b'])).toBe(20);
    expect(newest(['c', 'a', 'b'])).toBe(10);
    expect(newest(['c', 'a', 'b', 'f'])).toBeNull();
    expect(newest(undefined, 'r1')).toBe(20);
  });

  it('is late by whoever claimed most of an object, and by no more than they did', () => {
    const claimed = [
      { ...entries({ a: 1, b: 3 }), madeBy: 'ada' },
      { ...entries({ a: 10, b: 3 }), madeBy: 'ben' },
      // It was deleted before somebody claimed less of it.
      { ...entries({ b: 50 }), deletedByMs: lapsedAtMs, createdAtMs: lapsedAtMs - 1 },
    ];
    const late = open(reservationsOf(...claimed), lapsedAtMs + 1, []);
    const shares = [...late.unconfirmedBy].map(([madeBy, { bytes }]) => [madeBy, bytes]);
    expect(Object.fromEntries(shares)).toEqual({ ada: 3, ben: 10 });
    expect(late.unconfirmed.mostBytes).toBe(60);
  });

  it.each([undefined, []])(
    'is of nobody if it was deleted since it lapsed, whether it is scanned or not',
    (seen) => {
      const late = (createdAtMs: number) =>
        open(
          reservationsOf(
            { ...entries({ a: 10, b: 3 }), madeBy: 'ada', lookAtMs: lapsedAtMs + hour },
            {
              ...entries({ a: 10 }),
              createdAtMs,
              deletedByMs: createdAtMs + hour,
              lapsedAtMs: lapsedAtMs + 1,
            },
          ),
          lapsedAtMs + 2,
          seen,
        );
      expect(late(lapsedAtMs + 1).unconfirmed.mostBytes).toBe(13);
      expect(late(lapsedAtMs + 1).unconfirmedBy.get('ada')?.bytes).toBe(3);
      expect(late(lapsedAtMs + 1).countBy.get('ada')?.entries).toBe(1);
      // Whoever claims it afterwards claims it anew.
      expect(late(lapsedAtMs).unconfirmedBy.get('ada')?.bytes).toBe(13);
    },
  );

  it('is late for a day after death, beyond what live ones claim of the same object', () => {
    const all = reservationsOf(entries({ a: 10, b: 20 }), {
      ...entries({ a: 4, c: 7 }),
      lapsedAtMs: lapsedAtMs + 50 * hour,
    });
    const at = (ms: number) => open(all, ms, []);
    expect(at(lapsedAtMs).unconfirmed.mostBytes).toBe(0);
    expect(at(lapsedAtMs + 1)).toEqual({
      live: {
        mostBytes: 11,
        leastBytes: 11,
        leastUntilMs: lapsedAtMs + 50 * hour - 2000,
        mostUntilMs: lapsedAtMs + 50 * hour,
      },
      unconfirmed: {
        mostBytes: 6 + 20,
        leastBytes: 20,
        leastUntilMs: lapsedAtMs + 24 * hour - 2000,
        mostUntilMs: lapsedAtMs + 24 * hour,
      },
      unconfirmedBy: new Map(),
      countBy: new Map(),
      newestIssuedMs: 0,
    });
    expect(at(lapsedAtMs + 24 * hour).unconfirmed.mostBytes).toBe(26);
    expect(at(lapsedAtMs + 24 * hour + 1).unconfirmed.mostBytes).toBe(0);
  });

  it('is no part of the confirmed usage if it ends within a minute, but for the size that it claims', () => {
    const ending = { lapsedAtMs: 2000 + 60_000 };
    const lasting = { lapsedAtMs: 2000 + 60_001 };
    expect(open(reservationsOf(ending), 0, []).live).toMatchObject({
      mostBytes: 10,
      leastBytes: 0,
      leastUntilMs: Number.MAX_SAFE_INTEGER,
    });
    const both = reservationsOf({ ...entries({ a: 3 }), ...ending }, { ...entries({ a: 10 }), ...lasting });
    expect(open(both, 0, []).live).toMatchObject({ leastBytes: 3, leastUntilMs: 60_001 });
    const unconfirmed = reservationsOf(entries({ a: 4 }), {
      ...entries({ a: 3 }),
      lapsedAtMs: lapsedAtMs + 60_000,
    });
    expect(open(unconfirmed, lapsedAtMs + 1, []).unconfirmed).toMatchObject({ leastBytes: 3 });
  });

  it('without a scan is what unconfirmed ones still hold, unless they are covered', () => {
    const all = reservationsOf({ ...entries({ a: 10 }), lookAtMs: lapsedAtMs + hour });
    expect(open(all, lapsedAtMs + 1, undefined).unconfirmed.mostBytes).toBe(10);
    // Its day is over, but nobody has looked.
    expect(open(all, lapsedAtMs + 25 * hour, undefined).unconfirmed.mostBytes).toBe(10);
    expect(open(all, lapsedAtMs + 1, undefined, 'r0').unconfirmed.mostBytes).toBe(0);
    expect(open(reservationsOf({}), 0, undefined, 'r0').live.mostBytes).toBe(0);
  });

  it('counts in full if it died and nobody has looked yet, because the repo could not be listed', () => {
    const openBehind = (all: RepoReservations, nowMs: number) => {
      const scanned = { scan: undefined, covered: new Set<string>(), isBehind: true };
      const { live, unconfirmed } = all.openEntries({ scanned, nowMs, clockSkewMs: 1000 });
      return [live.mostBytes, live.leastBytes, unconfirmed.mostBytes];
    };
    expect(openBehind(reservationsOf(entries({ a: 10 })), 0)).toEqual([10, 10, 0]);
    expect(openBehind(reservationsOf(entries({ a: 10 })), lapsedAtMs + 1)).toEqual([10, 0, 0]);
    // Somebody looked, and it was not there.
    const lookAtMs = lapsedAtMs + 10;
    const unconfirmed = { ...entries({ a: 10 }), lookAtMs };
    expect(openBehind(reservationsOf(unconfirmed), lookAtMs - 1)).toEqual([0, 0, 10]);
    expect(openBehind(reservationsOf(unconfirmed), lookAtMs)).toEqual([10, 0, 0]);
  });

  it('keeps the confirmed usage of a live one if it died with a smaller claim on the same object', () => {
    const all = reservationsOf({ ...entries({ a: 5 }), lapsedAtMs: 0 }, entries({ a: 10 }));
    const scanned = { scan: undefined, covered: new Set<string>(), isBehind: true };
    expect(all.openEntries({ scanned, nowMs: 1, clockSkewMs: 1000 }).live.leastBytes).toBe(10);
  });
});

describe('a lapsed reservation', () => {
  const settle = (
    all: RepoReservations,
    scanBeganMs: number,
    seen: string[] | undefined,
    ...covered: string[]
  ) => [
    ...all.settle({ scanned: { scan: seen && scanOf(...seen), covered: new Set(covered) }, scanBeganMs }),
  ];
  const gone = [{ kind: 'delete', reservationId: 'r0' }];
  const unconfirmed = (lookAtMs: number, unseen: Record<string, number>) => [
    {
      kind: 'unconfirmed',
      reservationId: 'r0',
      unseen: new Map(Object.entries(unseen)),
      lapsedAtMs,
      lookAtMs,
    },
  ];

  it('stays while it lives', () => {
    expect(settle(reservationsOf({}), lapsedAtMs, ['a'])).toEqual([]);
  });

  it('goes if everything was seen, by this scan or before', () => {
    expect(settle(reservationsOf({}), lapsedAtMs + 1, ['a'])).toEqual(gone);
    expect(settle(reservationsOf(entries({})), lapsedAtMs + 1, [])).toEqual(gone);
    expect(settle(reservationsOf({}), lapsedAtMs + 1, undefined, 'r0')).toEqual(gone);
    expect(settle(reservationsOf({ lookAtMs: lapsedAtMs + hour }), lapsedAtMs + 1, undefined, 'r0')).toEqual(
      gone,
    );
  });

  it.each([
    [1, hour / 6],
    [hour / 6, hour],
    [hour, 6 * hour],
    [6 * hour, 24 * hour],
    [24 * hour - 1, 24 * hour],
  ])('is late otherwise: %i ms after its death it is looked at after %i ms', (afterMs, lookAfterMs) => {
    const all = reservationsOf(entries({ a: 1, b: 2 }));
    expect(settle(all, lapsedAtMs + afterMs, ['b'])).toEqual(unconfirmed(lapsedAtMs + lookAfterMs, { a: 1 }));
  });

  it('goes after the last look', () => {
    expect(settle(reservationsOf({}), lapsedAtMs + 24 * hour, [])).toEqual(gone);
  });

  it('that is late stays as it is until its next look, unless something arrived', () => {
    const all = reservationsOf({ ...entries({ a: 1, b: 2 }), lookAtMs: lapsedAtMs + hour });
    expect(settle(all, lapsedAtMs + hour / 2, undefined)).toEqual([]);
    expect(settle(all, lapsedAtMs + hour / 2, [])).toEqual([]);
    expect(settle(all, lapsedAtMs + hour / 2, ['b'])).toEqual(unconfirmed(lapsedAtMs + hour, { a: 1 }));
    expect(settle(all, lapsedAtMs + hour, [])).toEqual(unconfirmed(lapsedAtMs + 6 * hour, { a: 1, b: 2 }));
    const live = { lapsedAtMs: 9 * lapsedAtMs };
    const behind = reservationsOf(live, { ...entries({ b: 2 }), lookAtMs: lapsedAtMs + hour });
    expect(settle(behind, lapsedAtMs + hour / 2, [])).toEqual([]);
  });
});

describe('objects that were being deleted until a time', () => {
  const deletedByMs = lapsedAtMs + 2 * hour;
  const marker = { ...entries({ a: 1, b: 2 }), lookAtMs: lapsedAtMs + 24 * hour, deletedByMs };
  const settle = (scanBeganMs: number, ...seen: string[]) => [
    ...reservationsOf(marker).settle({ scanned: { scan: scanOf(...seen), covered: none }, scanBeganMs }),
  ];

  it('have not arrived because a scan saw them that began before', () => {
    expect(settle(deletedByMs, 'a', 'b')).toEqual([]);
    expect(settle(deletedByMs, 'a')).toEqual([]);
    expect(reservationsOf(marker).coveredBy(scanOf('a', 'b'), deletedByMs)).toEqual(none);
  });

  it('have arrived once more if a later scan saw them', () => {
    expect(settle(deletedByMs + 1, 'a', 'b')).toEqual([{ kind: 'delete', reservationId: 'r0' }]);
    expect(settle(deletedByMs + 1, 'a')).toEqual([
      {
        kind: 'unconfirmed',
        reservationId: 'r0',
        lapsedAtMs,
        unseen: new Map([['b', 2]]),
        lookAtMs: lapsedAtMs + 24 * hour,
      },
    ]);
    expect(reservationsOf(marker).coveredBy(scanOf('a', 'b'), deletedByMs + 1)).toEqual(new Set(['r0']));
  });

  it('are late all the same if they are deleted once more', () => {
    const later = { createdAtMs: lapsedAtMs + hour, lapsedAtMs: lapsedAtMs + 2 * hour };
    const all = reservationsOf(marker, { ...marker, ...later, deletedByMs: deletedByMs + 2 * hour });
    const scanBeganMs = deletedByMs + 1;
    expect([...all.settle({ scanned: { scan: scanOf(), covered: none }, scanBeganMs })]).toEqual([]);
    expect(all.coveredBy(scanOf(), scanBeganMs)).toEqual(none);
  });

  it('are late, and keep the one look that they have', () => {
    const all = reservationsOf(marker);
    const scanned = { scan: undefined, covered: none };
    expect(all.openEntries({ scanned, nowMs: deletedByMs, clockSkewMs: 0 }).unconfirmed.mostBytes).toBe(3);
    expect(settle(lapsedAtMs + 3 * hour)).toEqual([]);
    expect(settle(lapsedAtMs + 24 * hour)).toEqual([{ kind: 'delete', reservationId: 'r0' }]);
  });
});

it('those of a repo are known by their ids', () => {
  const all = reservationsOf({}, {});
  expect([all.ids(), reservationsOf().ids()]).toEqual([new Set(['r0', 'r1']), new Set()]);
});

it('the last PUT of a reservation with entries ends when it is no longer late', () => {
  expect(reservationsOf().putsUntilMs()).toBe(0);
  expect(reservationsOf({ ...entries({}), lapsedAtMs: 9 * lapsedAtMs }).putsUntilMs()).toBe(0);
  const all = reservationsOf({ lapsedAtMs: lapsedAtMs + 5 }, {}, { lapsedAtMs: lapsedAtMs + 2 });
  expect(all.putsUntilMs()).toBe(lapsedAtMs + 5 + 24 * hour);
});

it('live reservations promise the largest size of each object, and a URL if one is issued', () => {
  const all = reservationsOf(
    { ...entries({ a: 1, b: 2 }), state: 'pending' },
    entries({ a: 5, x: 9 }),
    { ...entries({ a: 3 }), state: 'pending' },
    { ...entries({ b: 8 }), lapsedAtMs: 5 },
  );
  const promises = all.promises({ oids: new Set(['a', 'b', 'c']), nowMs: 6 });
  expect(promises).toEqual(
    new Map([
      ['a', { isIssued: true, largestBytes: 5 }],
      ['b', { isIssued: false, largestBytes: 2 }],
    ]),
  );
  expect([all.count, all.entryCount, all.oids()]).toEqual([4, 6, new Set(['a', 'b', 'x'])]);
  expect(reservationsOf().promises({ oids: none, nowMs: 0 })).toEqual(new Map());
});
