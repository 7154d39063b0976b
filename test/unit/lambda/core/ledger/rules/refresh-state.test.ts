import { describe, expect, it } from 'vitest';
import {
  beginRun,
  type DueTenant,
  endRun,
  handAgainMs,
  lastLookMs,
  lookAgainMs,
  mayBeHandedAgain,
  noRefreshState,
} from '../../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import type { TenantRecord } from '../../../../../../lambda/core/ledger/rules/tenant.ts';
import { defaultSettings } from '../../../../../../lambda/core/rules/settings.ts';
import { Random } from '../../../../../support/random.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const nowMs = 1_800_000_000_000;

/** Of a tenant that is due since then. */
const due = (dueAtMs: number, more: Partial<DueTenant> = {}): DueTenant => ({
  tenant: 'acme',
  full: false,
  deletes: false,
  dueAtMs,
  ...more,
});
const tenantOf = (more: { scannedAtMs?: number; listedUntilMs?: number; closedAtMs?: number }) => {
  const { scannedAtMs = 0, listedUntilMs = 0, closedAtMs = null } = more;
  const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs };
  return { scanned, listedUntilMs, closedAtMs } as Partial<TenantRecord> as TenantRecord;
};

describe('whoever was handed on and is still due', () => {
  const sinceMs = nowMs - 10 * minute;
  const roundAt = (atMs: number) => ({
    ...noRefreshState.round,
    beganMs: atMs,
    lastBeganMs: atMs - 5 * minute,
    sinceMs: atMs - 10 * minute,
  });
  const again = (tenant: Parameters<typeof tenantOf>[0], of: DueTenant = due(nowMs - 20 * minute)) =>
    mayBeHandedAgain(defaultSettings, { due: of, tenant: tenantOf(tenant), round: roundAt(nowMs), nowMs });

  it('waits while nothing tells that his message was handled', () => {
    expect(again({ scannedAtMs: sinceMs - hour })).toBe(false);
    expect(again({ scannedAtMs: sinceMs - hour, listedUntilMs: sinceMs - hour })).toBe(false);
    expect(again({}, due(nowMs - 20 * minute, { deletes: true }))).toBe(false);
  });

  it('is handed on again if he was counted since, or could not be counted then', () => {
    expect(again({ scannedAtMs: sinceMs + minute })).toBe(true);
    // Counted less than a minute before, so the reconcile was deferred.
    expect(again({ scannedAtMs: sinceMs - 50 * second })).toBe(true);
    // His budget was overdrawn until then.
    expect(again({ listedUntilMs: sinceMs + 6 * minute })).toBe(true);
  });

  it('was counted since, even if the clocks of two functions differ', () => {
    const skewMs = 2 * defaultSettings.clockSkewMs;
    // The reconcile after it could begin a minute later.
    expect(again({ scannedAtMs: sinceMs - minute - skewMs })).toBe(true);
    expect(again({ scannedAtMs: sinceMs - minute - skewMs - 1 })).toBe(false);
  });

  it('waits while his reconcile would be deferred, unless something is to be deleted', () => {
    const overdrawn = { listedUntilMs: nowMs + 6 * minute };
    expect(again(overdrawn)).toBe(false);
    expect(again(overdrawn, due(nowMs - 20 * minute, { deletes: true }))).toBe(true);
    expect(again({ ...overdrawn, closedAtMs: 1 })).toBe(true);
    expect(again({ listedUntilMs: nowMs + 5 * minute })).toBe(true);
    expect(again({ scannedAtMs: nowMs - 59 * second })).toBe(false);
  });

  it('is handed on again after three hours in any case', () => {
    const at = (ageMs: number) => again({}, due(nowMs - ageMs));
    expect(at(handAgainMs - second)).toBe(false);
    expect(at(handAgainMs)).toBe(true);
    // Once: the round before has seen to it.
    expect(at(handAgainMs + 5 * minute)).toBe(false);
    expect(at(2 * handAgainMs + minute)).toBe(true);
  });
});

describe('rounds', () => {
  it('begin once the one before is over, and five minutes after it began', () => {
    const first = endRun(beginRun(noRefreshState, nowMs), {
      handedUntilMs: 7,
      lookedUntilMs: 0,
      beganMs: nowMs,
    });
    expect(first).toMatchObject({ handedUntilMs: 7, round: { beganMs: nowMs, untilMs: 0, nextUntilMs: 7 } });
    expect(beginRun(first, nowMs + 5 * minute - 1)).toBe(first);
    const second = beginRun(first, nowMs + lookAgainMs);
    // Nobody was handed on before the first one.
    expect(second.round).toMatchObject({ untilMs: 7, doneUntilMs: 0, sinceMs: nowMs });
    const half = endRun(second, { handedUntilMs: 9, lookedUntilMs: 5, beganMs: nowMs + lookAgainMs });
    expect(beginRun(half, nowMs + hour)).toBe(half);
    const done = endRun(half, { handedUntilMs: 11, lookedUntilMs: 7, beganMs: nowMs + hour });
    expect(beginRun(done, nowMs + hour).round).toMatchObject({ beganMs: nowMs + hour, untilMs: 9 });
  });

  it('know when somebody was looked at: in the round before, if it looked at what was due then', () => {
    const round = { ...noRefreshState.round, lastBeganMs: 50, lastUntilMs: 7, sinceMs: 20 };
    expect(lastLookMs(round, { dueAtMs: 7 })).toBe(50);
    expect(lastLookMs(round, { dueAtMs: 8 })).toBe(20);
  });

  it('know since when: nobody was handed on or looked at earlier than is said of him', () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = new Random(seed);
      // Who is due since 0, 1, 2, …: when he was handed on or looked at last.
      const seen: number[] = [];
      let [state, atMs, looks, tooLate, tooSoon] = [noRefreshState, nowMs, 0, 0, 0];
      for (let run = 0; run < 300; run += 1) {
        atMs += random.int(30 * second, 3 * minute);
        state = beginRun(state, atMs);
        const { doneUntilMs, untilMs } = state.round;
        const lookedUntilMs = Math.min(untilMs, doneUntilMs + random.int(1, 400));
        for (let dueAtMs = doneUntilMs + 1; dueAtMs <= lookedUntilMs; dueAtMs += 1) {
          const seenMs = seen[dueAtMs] ?? 0;
          if (seenMs < lastLookMs(state.round, { dueAtMs })) tooLate += 1;
          if (atMs - seenMs < 30 * second) tooSoon += 1;
          seen[dueAtMs] = atMs;
          looks += 1;
        }
        const handedUntilMs = state.handedUntilMs + random.int(0, 5);
        for (let dueAtMs = state.handedUntilMs + 1; dueAtMs <= handedUntilMs; dueAtMs += 1)
          seen[dueAtMs] = atMs;
        state = endRun(state, { handedUntilMs, lookedUntilMs, beganMs: atMs });
      }
      expect([tooLate, tooSoon]).toEqual([0, 0]);
      expect(looks).toBeGreaterThan(5000);
    }
  });
});
