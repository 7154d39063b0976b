import { describe, expect, it } from 'vitest';
import type { RepoReservations } from '../../../../../lambda/ledger/rules/repo-reservations.ts';
import { repoReservations as reservationsOf } from '../../../../support/ledger-records.ts';

const hour = 3_600_000;
const deadAtMs = 100 * hour;
const none: ReadonlySet<string> = new Set();

const scanOf = (...seen: string[]) => ({ storedBytes: 0, objectCount: 0, seen: new Set(seen) });
const claims = (given: Record<string, number>) => ({ claims: new Map(Object.entries(given)) });

describe('a repo needs a scan', () => {
  const needScan = (all: RepoReservations, nowMs: number, ...covered: string[]) =>
    all.needScan({ covered: new Set(covered), nowMs });

  it('for a reservation that is not covered, live or dead', () => {
    expect(needScan(reservationsOf({}), 0)).toBe(true);
    expect(needScan(reservationsOf({}), deadAtMs + 1)).toBe(true);
    expect(needScan(reservationsOf({}, {}), 0, 'r0')).toBe(true);
    expect(needScan(reservationsOf({}, {}), 0, 'r0', 'r1')).toBe(false);
    expect(needScan(reservationsOf(), 0)).toBe(false);
  });

  it('for a late one whose day is over, even if its look comes later', () => {
    const late = reservationsOf({ lookAtMs: deadAtMs + 25 * hour });
    expect(needScan(late, deadAtMs + 24 * hour)).toBe(false);
    expect(needScan(late, deadAtMs + 24 * hour + 1)).toBe(true);
  });

  it('for a late one at its time, unless it is covered', () => {
    const late = reservationsOf({ lookAtMs: deadAtMs + hour });
    expect(needScan(late, deadAtMs + hour - 1)).toBe(false);
    expect(needScan(late, deadAtMs + hour)).toBe(true);
    expect(needScan(late, deadAtMs + hour, 'r0')).toBe(false);
  });
});

describe('a scan covers', () => {
  it('the reservations of which it saw every object, dead or not, and a note without any', () => {
    const all = reservationsOf(claims({ a: 1, b: 2 }), claims({ a: 1 }), claims({}), claims({ c: 1 }));
    expect(all.coveredBy(scanOf('a', 'b'), 0)).toEqual(new Set(['r0', 'r1', 'r2']));
    expect(all.coveredBy(scanOf('a'), deadAtMs + 1)).toEqual(new Set(['r1', 'r2']));
  });

  it('at most 5,000, the live ones first', () => {
    const many = (count: number, dead: number) =>
      Array.from({ length: count }, () => ({ claims: new Map(), deadAtMs: dead }));
    const all = reservationsOf(...many(4000, 1), ...many(3000, 9));
    const covered = all.coveredBy(scanOf(), 5);
    expect(covered.size).toBe(5000);
    expect([...covered].slice(0, 3000).every((id) => Number(id.slice(1)) >= 4000)).toBe(true);
  });
});

describe('what reservations may still bring', () => {
  const open = (all: RepoReservations, nowMs: number, seen: string[] | undefined, ...covered: string[]) =>
    all.openClaims({
      counted: { scan: seen && scanOf(...seen), covered: new Set(covered) },
      nowMs,
      clockSkewMs: 1000,
    });

  it('is what the scan did not see, each object once: the largest and the smallest issued size', () => {
    const all = reservationsOf(
      claims({ a: 10, b: 20 }),
      { ...claims({ b: 25, c: 30 }), deadAtMs: deadAtMs + 5 },
      { ...claims({ b: 1, d: 40 }), state: 'pending' },
    );
    expect(open(all, 0, ['a'])).toEqual({
      live: {
        mostBytes: 25 + 30 + 40,
        leastBytes: 20 + 30,
        leastUntilMs: deadAtMs - 2000,
        mostUntilMs: deadAtMs + 5,
      },
      late: { mostBytes: 0, leastBytes: 0, leastUntilMs: Number.MAX_SAFE_INTEGER, mostUntilMs: 0 },
      lateBy: new Map(),
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

  it('tells whose what is late is, each object for one of them, without what somebody live claims', () => {
    const all = reservationsOf(
      { ...claims({ a: 10, b: 20 }), madeBy: 'ada' },
      { ...claims({ b: 20, c: 5 }), madeBy: 'ben', deadAtMs: deadAtMs - 5 },
      { ...claims({ d: 7, e: 1 }), madeBy: 'ada', deadAtMs: deadAtMs - 9 },
      { ...claims({ e: 1, f: 3 }), madeBy: 'cat', deadAtMs: 9 * deadAtMs },
      claims({ g: 100 }),
    );
    const { late, lateBy } = open(all, deadAtMs + 1, ['f']);
    expect(late.mostBytes).toBe(10 + 20 + 5 + 7 + 100);
    expect(lateBy).toEqual(
      new Map([
        ['ada', { bytes: 37, untilMs: deadAtMs + 24 * hour }],
        ['ben', { bytes: 5, untilMs: deadAtMs - 5 + 24 * hour }],
      ]),
    );
  });

  it('tells how many of each have not arrived, live and late, and until when', () => {
    const all = reservationsOf(
      { ...claims({ a: 10, b: 0, c: 5 }), madeBy: 'ada' },
      { ...claims({ b: 0, d: 1 }), madeBy: 'ada', deadAtMs: deadAtMs + 9, state: 'pending' },
      { ...claims({ c: 5 }), madeBy: 'ben' },
      { ...claims({ e: 5 }), madeBy: 'cat', deadAtMs: deadAtMs - 25 * hour },
      claims({ g: 100 }),
    );
    for (const nowMs of [deadAtMs, deadAtMs + 1])
      expect(open(all, nowMs, ['c']).countBy).toEqual(
        new Map([['ada', { claims: 4, untilMs: deadAtMs + 9 + 24 * hour }]]),
      );
  });

  it('is held until the last claim with bytes in it can no longer arrive', () => {
    const all = reservationsOf(
      claims({ a: 10 }),
      { ...claims({ b: 1 }), state: 'pending', deadAtMs: deadAtMs + 7 },
      { ...claims({ c: 0 }), deadAtMs: deadAtMs + 9 },
    );
    expect(open(all, 0, []).live.mostUntilMs).toBe(deadAtMs + 7);
    expect(open(all, 0, ['b']).live.mostUntilMs).toBe(deadAtMs);
    expect(open(all, 0, ['a', 'b']).live.mostUntilMs).toBe(0);
  });

  it('may be under way from when the newest issued one began of which the scan missed something', () => {
    const all = reservationsOf(
      { ...claims({ a: 1, b: 1 }), createdAtMs: 20 },
      { ...claims({ c: 1 }), createdAtMs: 30 },
      { ...claims({ d: 1 }), createdAtMs: 40, state: 'pending' },
      { ...claims({ e: 1 }), createdAtMs: 50, deadAtMs: 60 },
      { ...claims({ f: 0 }), createdAtMs: 10 },
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

  it('is late for a day after death, beyond what live ones claim of the same object', () => {
    const all = reservationsOf(claims({ a: 10, b: 20 }), {
      ...claims({ a: 4, c: 7 }),
      deadAtMs: deadAtMs + 50 * hour,
    });
    const at = (ms: number) => open(all, ms, []);
    expect(at(deadAtMs).late.mostBytes).toBe(0);
    expect(at(deadAtMs + 1)).toEqual({
      live: {
        mostBytes: 11,
        leastBytes: 11,
        leastUntilMs: deadAtMs + 50 * hour - 2000,
        mostUntilMs: deadAtMs + 50 * hour,
      },
      late: {
        mostBytes: 6 + 20,
        leastBytes: 20,
        leastUntilMs: deadAtMs + 24 * hour - 2000,
        mostUntilMs: deadAtMs + 24 * hour,
      },
      lateBy: new Map(),
      countBy: new Map(),
      newestIssuedMs: 0,
    });
    expect(at(deadAtMs + 24 * hour).late.mostBytes).toBe(26);
    expect(at(deadAtMs + 24 * hour + 1).late.mostBytes).toBe(0);
  });

  it('is no part of the floor if it ends within a minute, but for the size that it claims', () => {
    const ending = { deadAtMs: 2000 + 60_000 };
    const lasting = { deadAtMs: 2000 + 60_001 };
    expect(open(reservationsOf(ending), 0, []).live).toMatchObject({
      mostBytes: 10,
      leastBytes: 0,
      leastUntilMs: Number.MAX_SAFE_INTEGER,
    });
    const both = reservationsOf({ ...claims({ a: 3 }), ...ending }, { ...claims({ a: 10 }), ...lasting });
    expect(open(both, 0, []).live).toMatchObject({ leastBytes: 3, leastUntilMs: 60_001 });
    const late = reservationsOf(claims({ a: 4 }), { ...claims({ a: 3 }), deadAtMs: deadAtMs + 60_000 });
    expect(open(late, deadAtMs + 1, []).late).toMatchObject({ leastBytes: 3 });
  });

  it('without a scan is what late ones still hold, unless they are covered', () => {
    const all = reservationsOf({ ...claims({ a: 10 }), lookAtMs: deadAtMs + hour });
    expect(open(all, deadAtMs + 1, undefined).late.mostBytes).toBe(10);
    // Its day is over, but nobody has looked.
    expect(open(all, deadAtMs + 25 * hour, undefined).late.mostBytes).toBe(10);
    expect(open(all, deadAtMs + 1, undefined, 'r0').late.mostBytes).toBe(0);
    expect(open(reservationsOf({}), 0, undefined, 'r0').live.mostBytes).toBe(0);
  });

  it('counts in full if it died and nobody has looked yet, because the repo could not be listed', () => {
    const openBehind = (all: RepoReservations, nowMs: number) => {
      const counted = { scan: undefined, covered: new Set<string>(), isBehind: true };
      const { live, late } = all.openClaims({ counted, nowMs, clockSkewMs: 1000 });
      return [live.mostBytes, live.leastBytes, late.mostBytes];
    };
    expect(openBehind(reservationsOf(claims({ a: 10 })), 0)).toEqual([10, 10, 0]);
    expect(openBehind(reservationsOf(claims({ a: 10 })), deadAtMs + 1)).toEqual([10, 0, 0]);
    // Somebody looked, and it was not there.
    const lookAtMs = deadAtMs + 10;
    const late = { ...claims({ a: 10 }), lookAtMs };
    expect(openBehind(reservationsOf(late), lookAtMs - 1)).toEqual([0, 0, 10]);
    expect(openBehind(reservationsOf(late), lookAtMs)).toEqual([10, 0, 0]);
  });

  it('keeps the floor of a live one if it died with a smaller claim on the same object', () => {
    const all = reservationsOf({ ...claims({ a: 5 }), deadAtMs: 0 }, claims({ a: 10 }));
    const counted = { scan: undefined, covered: new Set<string>(), isBehind: true };
    expect(all.openClaims({ counted, nowMs: 1, clockSkewMs: 1000 }).live.leastBytes).toBe(10);
  });
});

describe('a dead reservation', () => {
  const settle = (
    all: RepoReservations,
    scanBeganMs: number,
    seen: string[] | undefined,
    ...covered: string[]
  ) => [
    ...all.settle({ counted: { scan: seen && scanOf(...seen), covered: new Set(covered) }, scanBeganMs }),
  ];
  const gone = [{ kind: 'delete', reservationId: 'r0' }];
  const late = (lookAtMs: number, unseen: Record<string, number>) => [
    { kind: 'late', reservationId: 'r0', unseen: new Map(Object.entries(unseen)), deadAtMs, lookAtMs },
  ];

  it('stays while it lives', () => {
    expect(settle(reservationsOf({}), deadAtMs, ['a'])).toEqual([]);
  });

  it('goes if everything was seen, by this scan or before', () => {
    expect(settle(reservationsOf({}), deadAtMs + 1, ['a'])).toEqual(gone);
    expect(settle(reservationsOf(claims({})), deadAtMs + 1, [])).toEqual(gone);
    expect(settle(reservationsOf({}), deadAtMs + 1, undefined, 'r0')).toEqual(gone);
    expect(settle(reservationsOf({ lookAtMs: deadAtMs + hour }), deadAtMs + 1, undefined, 'r0')).toEqual(
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
    const all = reservationsOf(claims({ a: 1, b: 2 }));
    expect(settle(all, deadAtMs + afterMs, ['b'])).toEqual(late(deadAtMs + lookAfterMs, { a: 1 }));
  });

  it('goes after the last look', () => {
    expect(settle(reservationsOf({}), deadAtMs + 24 * hour, [])).toEqual(gone);
  });

  it('that is late stays as it is until its next look, unless something arrived', () => {
    const all = reservationsOf({ ...claims({ a: 1, b: 2 }), lookAtMs: deadAtMs + hour });
    expect(settle(all, deadAtMs + hour / 2, undefined)).toEqual([]);
    expect(settle(all, deadAtMs + hour / 2, [])).toEqual([]);
    expect(settle(all, deadAtMs + hour / 2, ['b'])).toEqual(late(deadAtMs + hour, { a: 1 }));
    expect(settle(all, deadAtMs + hour, [])).toEqual(late(deadAtMs + 6 * hour, { a: 1, b: 2 }));
    const live = { deadAtMs: 9 * deadAtMs };
    const behind = reservationsOf(live, { ...claims({ b: 2 }), lookAtMs: deadAtMs + hour });
    expect(settle(behind, deadAtMs + hour / 2, [])).toEqual([]);
  });
});

describe('objects that were being deleted until a time', () => {
  const deletedByMs = deadAtMs + 2 * hour;
  const marker = { ...claims({ a: 1, b: 2 }), lookAtMs: deadAtMs + 24 * hour, deletedByMs };
  const settle = (scanBeganMs: number, ...seen: string[]) => [
    ...reservationsOf(marker).settle({ counted: { scan: scanOf(...seen), covered: none }, scanBeganMs }),
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
        kind: 'late',
        reservationId: 'r0',
        deadAtMs,
        unseen: new Map([['b', 2]]),
        lookAtMs: deadAtMs + 24 * hour,
      },
    ]);
    expect(reservationsOf(marker).coveredBy(scanOf('a', 'b'), deletedByMs + 1)).toEqual(new Set(['r0']));
  });

  it('are late, and keep the one look that they have', () => {
    const all = reservationsOf(marker);
    const counted = { scan: undefined, covered: none };
    expect(all.openClaims({ counted, nowMs: deletedByMs, clockSkewMs: 0 }).late.mostBytes).toBe(3);
    expect(settle(deadAtMs + 3 * hour)).toEqual([]);
    expect(settle(deadAtMs + 24 * hour)).toEqual([{ kind: 'delete', reservationId: 'r0' }]);
  });
});

it('those of a repo are known by their ids', () => {
  const all = reservationsOf({}, {});
  expect([all.ids(), reservationsOf().ids()]).toEqual([new Set(['r0', 'r1']), new Set()]);
});

it('the last PUT of a reservation with claims ends when it is no longer late', () => {
  expect(reservationsOf().putsUntilMs()).toBe(0);
  expect(reservationsOf({ ...claims({}), deadAtMs: 9 * deadAtMs }).putsUntilMs()).toBe(0);
  const all = reservationsOf({ deadAtMs: deadAtMs + 5 }, {}, { deadAtMs: deadAtMs + 2 });
  expect(all.putsUntilMs()).toBe(deadAtMs + 5 + 24 * hour);
});

it('live reservations promise the largest size of each object, and a URL if one is issued', () => {
  const all = reservationsOf(
    { ...claims({ a: 1, b: 2 }), state: 'pending' },
    claims({ a: 5, x: 9 }),
    { ...claims({ a: 3 }), state: 'pending' },
    { ...claims({ b: 8 }), deadAtMs: 5 },
  );
  const promises = all.promises({ oids: new Set(['a', 'b', 'c']), nowMs: 6 });
  expect(promises).toEqual(
    new Map([
      ['a', { isIssued: true, largestBytes: 5 }],
      ['b', { isIssued: false, largestBytes: 2 }],
    ]),
  );
  expect([all.count, all.claimCount, all.oids()]).toEqual([4, 6, new Set(['a', 'b', 'x'])]);
  expect(reservationsOf().promises({ oids: none, nowMs: 0 })).toEqual(new Map());
});
