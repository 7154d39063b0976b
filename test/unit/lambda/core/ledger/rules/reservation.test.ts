import { describe, expect, it } from 'vitest';
import {
  type Bound,
  changeIntent,
  chooseWithinLimits,
  isAbandoned,
  isLapsed,
  lapsedAtMs,
  lateAfterDelete,
  placeOf,
  reservationIdOf,
  storedAgainUntilMs,
  sumEntries,
  unconfirmedForMs,
  uploadsToVerify,
} from '../../../../../../lambda/core/ledger/rules/reservation.ts';
import { defaultSettings } from '../../../../../../lambda/core/rules/settings.ts';
import { reservation } from '../../../../../support/ledger-records.ts';

describe('claims are chosen', () => {
  const choose = (
    entries: Record<string, number>,
    more: { baseBytes?: number; limitBytes?: number | null; bounds?: Bound[]; free?: string[] } = {},
  ) => {
    const limitBytes = more.limitBytes === undefined ? 100 : more.limitBytes;
    const { chosen, refused, addedBytes } = chooseWithinLimits({
      entries: new Map(Object.entries(entries)),
      bounds: [{ baseBytes: more.baseBytes ?? 0, limitBytes }, ...(more.bounds ?? [])],
      isFree: (oid) => more.free?.includes(oid) ?? false,
    });
    return { chosen: Object.fromEntries(chosen), refused: Object.fromEntries(refused), addedBytes };
  };

  it('up to the very byte of the limit', () => {
    expect(choose({ a: 60, b: 40 })).toEqual({ chosen: { a: 60, b: 40 }, refused: {}, addedBytes: 100 });
    expect(choose({ a: 60, b: 41 })).toEqual({ chosen: { a: 60 }, refused: { b: 41 }, addedBytes: 60 });
    expect(choose({ a: 1 }, { baseBytes: 100 })).toEqual({ chosen: {}, refused: { a: 1 }, addedBytes: 0 });
  });

  it('in the order of the request, and a large one does not keep out a smaller one behind it', () => {
    expect(choose({ a: 50, b: 60, c: 50 }).chosen).toEqual({ a: 50, c: 50 });
  });

  it('within each of several limits', () => {
    const tight = { baseBytes: 20, limitBytes: 70 };
    expect(choose({ a: 50, b: 1 }, { bounds: [tight] })).toEqual({
      chosen: { a: 50 },
      refused: { b: 1 },
      addedBytes: 50,
    });
    expect(choose({ a: 50 }, { baseBytes: 51, bounds: [tight] }).chosen).toEqual({});
    expect(choose({ a: 60 }, { bounds: [{ baseBytes: 0, limitBytes: null }] }).chosen).toEqual({ a: 60 });
  });

  it('for nothing if they are free, with their true size', () => {
    expect(choose({ a: 90, b: 90 }, { baseBytes: 10, free: ['b'] })).toEqual({
      chosen: { a: 90, b: 90 },
      refused: {},
      addedBytes: 90,
    });
  });

  it('whatever their size if there is no limit, up to 2^53 − 1', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(choose({ a: most }, { limitBytes: null }).chosen).toEqual({ a: most });
    expect(choose({ a: most }, { limitBytes: null, baseBytes: 1 }).refused).toEqual({ a: most });
  });
});

const settings = {
  ...defaultSettings,
  putGraceMs: 1000,
  putMinBytesPerSecond: 10,
  clockSkewMs: 7,
  pendingVoidAfterMs: 500,
};

describe('a reservation', () => {
  it.each<[string, number[], number]>([
    ['without objects after the grace and twice the skew', [], 5000 + 1000 + 14],
    ['of empty objects likewise', [0, 0], 5000 + 1000 + 14],
    ['by its largest object, at the slowest rate', [3, 95, 40], 5000 + 1000 + 9500 + 14],
    ['of 5 GiB after hours', [5 * 1024 ** 3], 5000 + 1000 + 536_870_912_000 + 14],
  ])('is lapsed %s', (_, sizes, expected) => {
    const entries = new Map(sizes.map((size, index) => [`${index}`, size]));
    expect(lapsedAtMs(settings, { expiresAtMs: 5000, entries })).toBe(expected);
  });

  it('is alive up to the very millisecond of its death', () => {
    expect([isLapsed({ lapsedAtMs: 10 }, 10), isLapsed({ lapsedAtMs: 10 }, 11)]).toEqual([false, true]);
  });

  it('is abandoned if it is pending for longer than its batch can run', () => {
    const pending = reservation('r');
    expect([1500, 1501].map((nowMs) => isAbandoned(settings, pending, nowMs))).toEqual([false, true]);
    expect(isAbandoned(settings, { ...pending, state: 'issued' }, 9999)).toBe(false);
  });

  const hour = 3_600_000;
  const afterDelete = (putsUntilMs: number, nowMs: number, repo = 'app') =>
    lateAfterDelete(settings, {
      id: 'r',
      tenant: 'acme',
      repo,
      entries: new Map([['a', 3]]),
      putsUntilMs,
      deletedByMs: nowMs + 100,
      nowMs,
    });

  it('of deleted objects is late for as long as their PUTs may end, with one look within the hour after that', () => {
    const nowMs = 100 * hour;
    const unconfirmed = afterDelete(nowMs + 3 * hour + 1, nowMs);
    expect(unconfirmed).toEqual({
      id: 'r',
      repo: 'app',
      state: 'issued',
      entries: new Map([['a', 3]]),
      createdAtMs: nowMs,
      expiresAtMs: nowMs + 3 * hour + 1 - unconfirmedForMs,
      lapsedAtMs: nowMs + 3 * hour + 1 - unconfirmedForMs,
      lookAtMs: expect.any(Number),
      deletedByMs: nowMs + 100 + 14,
    });
    expect(unconfirmed).not.toHaveProperty('tenant');
  });

  it('of deleted objects is looked at once an hour for each repo, never early, and not with all others', () => {
    const nowMs = 100 * hour;
    const looks = new Map<number, number>();
    for (let index = 0; index < 20_000; index += 1) {
      const untilMs = nowMs + 3 * hour + 1;
      const { lookAtMs } = afterDelete(untilMs, nowMs, `repo-${index}`);
      expect(lookAtMs).toBeGreaterThanOrEqual(untilMs);
      expect(lookAtMs).toBeLessThan(untilMs + hour);
      const minute = Math.floor((lookAtMs ?? 0) / 60_000);
      looks.set(minute, (looks.get(minute) ?? 0) + 1);
    }
    expect(Math.max(...looks.values())).toBeLessThan((3 * 20_000) / 60);
    const endsOfAnHour = [0, 7, 20, 59].map((minutes) => nowMs + 3 * hour + minutes * 60_000);
    const ofOneRepo = endsOfAnHour.map((untilMs) => afterDelete(untilMs, nowMs).lookAtMs);
    expect(new Set(ofOneRepo).size).toBeLessThanOrEqual(2);
    const [lookAtMs = 0] = ofOneRepo;
    expect(afterDelete(lookAtMs ?? 0, nowMs).lookAtMs).toBe(lookAtMs);
  });

  it('of deleted objects is lapsed from its beginning, by every clock', () => {
    const nowMs = 100 * hour;
    expect(isLapsed(afterDelete(nowMs + unconfirmedForMs, nowMs), nowMs - 14)).toBe(true);
  });

  it('has the sum of its entries', () => {
    expect(
      sumEntries(
        new Map([
          ['a', 3],
          ['b', 0],
          ['c', 4],
        ]),
      ),
    ).toBe(7);
    expect(sumEntries(new Map())).toBe(0);
  });

  it('is named after its verify token, by 32 digits from which nobody finds the token', () => {
    // The SHA-256 of `abc`, from FIPS 180.
    expect(reservationIdOf('abc')).toBe('ba7816bf8f01cfea414140de5dae2223');
  });
});

describe('an object that is deleted', () => {
  it('of more than one PUT carries may come back as long as the largest PUT may, and no longer', () => {
    const untilMsOf = (sizeBytes: number) =>
      storedAgainUntilMs(defaultSettings, { sizeBytes, lastModifiedMs: 0 });
    const [putMs, gib] = [untilMsOf(5 * 1024 ** 3), 1024 ** 3];
    expect(untilMsOf(gib)).toBeLessThan(putMs);
    expect(untilMsOf(5_000 * gib)).toBe(putMs);
  });
});

describe('a key', () => {
  it.each([
    ['acme/app/0123', { tenant: 'acme', repo: 'app', name: '0123' }],
    ['acme/app/deeper/x', { tenant: 'acme', repo: 'app', name: 'deeper/x' }],
    ['acme/app/', undefined],
    ['acme/app', undefined],
    ['acme', undefined],
    ['', undefined],
    ['/acme/app/x', undefined],
    ['acme//x', undefined],
    ['v1/app/x', undefined],
    ['Acme/app/x', undefined],
    ['acme/-app/x', undefined],
  ])('%s names the place %j', (key, place) => {
    expect(placeOf(key)).toEqual(place);
  });
});

it('a note that a repo changed promises nothing, and is lapsed from the beginning by every clock', () => {
  const nowMs = 1_800_000_000_000;
  const note = changeIntent(defaultSettings, { id: 'n', repo: 'app', nowMs });
  const lapsedAtMs = nowMs - 2 * defaultSettings.clockSkewMs;
  expect(note).toEqual({
    id: 'n',
    repo: 'app',
    state: 'issued',
    entries: new Map(),
    createdAtMs: nowMs,
    expiresAtMs: lapsedAtMs,
    lapsedAtMs,
    lookAtMs: null,
  });
  expect(isLapsed(note, nowMs - defaultSettings.clockSkewMs)).toBe(true);
});

const large = 8 * 1024 ** 2;
const verified = (uploads: Readonly<Record<string, number>>, objects = Object.keys(uploads).length) => [
  ...uploadsToVerify(new Map(Object.entries(uploads)), { objects }),
];

describe('a client is asked to verify', () => {
  it('the last upload of the answer, whatever its size', () => {
    expect(verified({ a: 3, b: 2, c: 0 })).toEqual(['c']);
    expect(verified({ only: 1 })).toEqual(['only']);
  });

  it('and each of 8 MiB or more', () => {
    expect(verified({ a: large + 1, b: large, c: large - 1, d: 1 })).toEqual(['a', 'b', 'd']);
    expect(verified({ a: 1, b: large })).toEqual(['b']);
  });

  it('of a full batch of git-lfs only those, because another batch follows', () => {
    expect(verified({ a: 1, b: large, c: 1 }, 100)).toEqual(['b']);
    expect(verified({ a: 1, c: 1 }, 100)).toEqual([]);
    expect(verified({ a: 1, c: 1 }, 99)).toEqual(['c']);
    expect(verified({ a: 1, c: 1 }, 101)).toEqual(['c']);
  });

  it('nothing, if nothing is uploaded', () => {
    expect(verified({})).toEqual([]);
  });
});
