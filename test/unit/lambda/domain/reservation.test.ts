import { describe, expect, it } from 'vitest';
import {
  deadAtMs,
  isAbandoned,
  isDead,
  lateAfterDelete,
  lateForMs,
  reservationIdOf,
  sumClaims,
} from '../../../../lambda/domain/reservation.ts';
import { defaultSettings } from '../../../../lambda/rules/settings.ts';
import { reservation } from '../../../support/ledger-records.ts';

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
  ])('is dead %s', (_, sizes, expected) => {
    const claims = new Map(sizes.map((size, index) => [`${index}`, size]));
    expect(deadAtMs(settings, { expiresAtMs: 5000, claims })).toBe(expected);
  });

  it('is alive up to the very millisecond of its death', () => {
    expect([isDead({ deadAtMs: 10 }, 10), isDead({ deadAtMs: 10 }, 11)]).toEqual([false, true]);
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
      claims: new Map([['a', 3]]),
      putsUntilMs,
      deletedByMs: nowMs + 100,
      nowMs,
    });

  it('of deleted objects is late for as long as their PUTs may end, with one look within the hour after that', () => {
    const nowMs = 100 * hour;
    const late = afterDelete(nowMs + 3 * hour + 1, nowMs);
    expect(late).toEqual({
      id: 'r',
      repo: 'app',
      state: 'issued',
      claims: new Map([['a', 3]]),
      createdAtMs: nowMs,
      expiresAtMs: nowMs + 3 * hour + 1 - lateForMs,
      deadAtMs: nowMs + 3 * hour + 1 - lateForMs,
      lookAtMs: expect.any(Number),
      deletedByMs: nowMs + 100 + 14,
    });
    expect(late).not.toHaveProperty('tenant');
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

  it('of deleted objects is dead from its beginning, by every clock', () => {
    const nowMs = 100 * hour;
    expect(isDead(afterDelete(nowMs + lateForMs, nowMs), nowMs - 14)).toBe(true);
  });

  it('has the sum of its claims', () => {
    expect(
      sumClaims(
        new Map([
          ['a', 3],
          ['b', 0],
          ['c', 4],
        ]),
      ),
    ).toBe(7);
    expect(sumClaims(new Map())).toBe(0);
  });

  it('is named after its verify token, by 32 digits from which nobody finds the token', () => {
    // The SHA-256 of `abc`, from FIPS 180.
    expect(reservationIdOf('abc')).toBe('ba7816bf8f01cfea414140de5dae2223');
  });
});
