import { describe, expect, it } from 'vitest';
import type {
  RepoReservations,
  RepoScan,
} from '../../../../../../lambda/core/ledger/rules/repo-reservations.ts';
import type { Reservation } from '../../../../../../lambda/core/ledger/rules/reservation.ts';
import { repoReservations } from '../../../../../support/ledger-records.ts';

const hour = 3_600_000;
const day = 24 * hour;
const lapsedAtMs = 100 * hour;
const none: ReadonlySet<string> = new Set();
const oid = (start: string) => start.padEnd(64, '0');
const [a, b, c] = [oid('a'), oid('b'), oid('c')];
/** What a sum of unconfirmed reservations claims: it has no oids. */
const sum = '*sum';

/** Reservations of a large repo. Unless said otherwise each claims `a`. */
const reservationsOf = (...given: readonly Partial<Reservation>[]) =>
  repoReservations(...given.map((more) => ({ entries: new Map([[a, 10]]), ...more })));

const entries = (...oids: string[]) => ({ entries: new Map(oids.map((each) => [each, 10])) });

/** What a reconcile knows of a large repo. Nothing of it was listed lately. */
const scanOf = (given: { seen?: string[]; unknown?: string[]; going?: string[] }): RepoScan => ({
  storedBytes: 0,
  objectCount: 0,
  seen: new Set(given.seen),
  large: {
    unknown: new Set(given.unknown),
    going: new Set(given.going),
  },
});

it('the oldest claim of some objects is that of any reservation', () => {
  const all = reservationsOf(
    { ...entries(a, b), createdAtMs: 3 },
    { ...entries(b), createdAtMs: 2 },
    { ...entries(c), createdAtMs: 1 },
  );
  expect(all.oldestEntryMs(new Set([a, b]))).toBe(2);
  expect(all.oldestEntryMs(new Set([a]))).toBe(3);
  expect(all.oldestEntryMs(new Set())).toBeUndefined();
});

describe('the store is asked for', () => {
  const asked = (all: RepoReservations, nowMs: number, ...counted: string[]) => [
    ...all.toAsk({ nowMs, isCounted: (each) => counted.includes(each) }).keys(),
  ];

  it('what is claimed and is not counted yet, each object once', () => {
    const all = reservationsOf(entries(a, b), entries(b, c));
    expect(asked(all, 0).sort()).toEqual([a, b, c]);
    expect(asked(all, 0, b)).toEqual([a, c]);
  });

  it('what lapsed reservations claim first, and then the newest of the live ones', () => {
    const live = { lapsedAtMs: 2 * lapsedAtMs };
    const all = reservationsOf(
      { ...entries(a), ...live, createdAtMs: 1 },
      { ...entries(b), ...live, createdAtMs: 2 },
      entries(c),
    );
    expect(asked(all, lapsedAtMs + 1)).toEqual([c, b, a]);
    expect(asked(all, lapsedAtMs)).toEqual([b, a, c]);
  });

  it('what several claim since the oldest of them was created, in whatever order they come', () => {
    const since = (...createdAtMs: number[]) =>
      reservationsOf(...createdAtMs.map((ms) => ({ createdAtMs: ms })))
        .toAsk({ nowMs: 0, isCounted: () => false })
        .get(a);
    expect([since(3, 5), since(5, 3), since(4)]).toEqual([3, 3, 4]);
    // Of which lapsed ones come first.
    const all = reservationsOf({ createdAtMs: 7 }, { createdAtMs: 2, lapsedAtMs: 2 * lapsedAtMs });
    expect(all.toAsk({ nowMs: lapsedAtMs + 1, isCounted: () => false }).get(a)).toBe(2);
  });

  it('nothing of which no URL was handed out, and no sum, which has no name', () => {
    expect(asked(reservationsOf({ state: 'pending' }), 0)).toEqual([]);
    expect(asked(reservationsOf(entries(sum)), 0)).toEqual([]);
    expect(asked(reservationsOf(entries(sum)), 0, sum)).toEqual([]);
  });

  it('what is late at its look, or once its day is over', () => {
    const unconfirmed = reservationsOf({ lookAtMs: lapsedAtMs + hour });
    expect(asked(unconfirmed, lapsedAtMs + hour - 1)).toEqual([]);
    expect(asked(unconfirmed, lapsedAtMs + hour)).toEqual([a]);
    const later = reservationsOf({ lookAtMs: lapsedAtMs + day + hour });
    expect(asked(later, lapsedAtMs + day)).toEqual([]);
    expect(asked(later, lapsedAtMs + day + 1)).toEqual([a]);
  });

  it('what was deleted only when the delete has ended: before, it may be the old object', () => {
    const deletedByMs = lapsedAtMs + hour;
    const marker = reservationsOf({ deletedByMs });
    expect(asked(marker, deletedByMs)).toEqual([]);
    expect(asked(marker, deletedByMs + 1)).toEqual([a]);
  });
});

describe('what nobody has asked for yet', () => {
  const open = (all: RepoReservations, scan: RepoScan, nowMs: number) =>
    all.openEntries({ scanned: { scan, covered: none }, nowMs, clockSkewMs: 0 });

  it('counts as if it were alive, even after the day of its reservation, and proves nothing', () => {
    const all = reservationsOf(entries(a, b));
    for (const nowMs of [0, lapsedAtMs + 1, lapsedAtMs + day + 1]) {
      const { live, unconfirmed } = open(all, scanOf({ unknown: [a, b] }), nowMs);
      expect(live).toMatchObject({ mostBytes: 20, leastBytes: 0, leastUntilMs: Number.MAX_SAFE_INTEGER });
      expect(unconfirmed.mostBytes).toBe(0);
    }
  });

  it('leaves the other objects of its reservation as they are', () => {
    const scan = scanOf({ unknown: [a] });
    const { live, unconfirmed } = open(reservationsOf(entries(a, b)), scan, lapsedAtMs + 1);
    expect([live.mostBytes, unconfirmed.mostBytes]).toEqual([10, 10]);
    expect(open(reservationsOf(entries(a, b)), scan, 0).live).toMatchObject({
      mostBytes: 20,
      leastBytes: 10,
    });
  });

  it('is held for as long as its reservation is, and tells that uploads are under way', () => {
    const all = reservationsOf({ createdAtMs: 7 });
    expect(open(all, scanOf({ unknown: [a] }), 0)).toMatchObject({
      live: { mostUntilMs: lapsedAtMs },
      newestIssuedMs: 7,
    });
    expect(open(all, scanOf({ unknown: [a] }), lapsedAtMs + 1)).toMatchObject({
      live: { mostUntilMs: lapsedAtMs + day },
      newestIssuedMs: null,
    });
  });

  it('keeps a lapsed reservation, without the objects that have arrived, until the next reconcile', () => {
    const scanBeganMs = lapsedAtMs + day + 1;
    const settle = (all: RepoReservations, scan: RepoScan) => [
      ...all.settle({ scanned: { scan, covered: none }, scanBeganMs }),
    ];
    expect(settle(reservationsOf(entries(a, b)), scanOf({ unknown: [a], seen: [b] }))).toEqual([
      {
        kind: 'unconfirmed',
        reservationId: 'r0',
        unseen: new Map([[a, 10]]),
        lapsedAtMs,
        lookAtMs: scanBeganMs,
      },
    ]);
    expect(settle(reservationsOf(entries(a, b)), scanOf({ unknown: [a] }))).toEqual([]);
    const behind = reservationsOf(entries(c), entries(a, b));
    expect(settle(behind, scanOf({ unknown: [a, b], seen: [c] }))).toEqual([
      { kind: 'delete', reservationId: 'r0' },
    ]);
    expect(settle(behind, scanOf({ unknown: [a, b, c] }))).toEqual([]);
  });
});

describe('what is being deleted', () => {
  const settle = (...given: Parameters<typeof scanOf>) => [
    ...reservationsOf(entries(a, b)).settle({
      scanned: { scan: scanOf(...given), covered: none },
      scanBeganMs: lapsedAtMs + day + 1,
    }),
  ];

  it('settles no reservation that claims it, although it was seen', () => {
    expect(settle({ seen: [a, b], going: [b] })).toEqual([]);
    expect(settle({ seen: [a], unknown: [b], going: [a] })).toEqual([]);
    expect(settle({ seen: [a, b], going: [c] })).toEqual([{ kind: 'delete', reservationId: 'r0' }]);
  });
});

describe('a change without a name', () => {
  it('is what a note says, at its time', () => {
    const note = { ...entries(), createdAtMs: 7 };
    expect(reservationsOf(note).namelessChanges()).toEqual([{ fromMs: 7, untilMs: 7 }]);
  });

  it('is none that has a name', () => {
    expect(reservationsOf(entries(a)).namelessChanges()).toEqual([]);
  });
});

it('a delete is no entry of its own objects, which others may claim', () => {
  const all = reservationsOf({ ...entries(a, b), deletedByMs: 5 }, entries(b), {
    ...entries(c),
    deletedByMs: 6,
  });
  expect(all.oidsBeside(5)).toEqual(new Set([b, c]));
  expect(all.oidsBeside(6)).toEqual(new Set([a, b]));
  expect(all.oidsBeside(7)).toEqual(new Set([a, b, c]));
});
