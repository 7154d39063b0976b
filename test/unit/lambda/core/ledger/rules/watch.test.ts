import { describe, expect, it } from 'vitest';
import { isNoting, isRelied, seenAgainFromMs } from '../../../../../../lambda/core/ledger/rules/watch.ts';

const watch = { id: 'w', openedAtMs: 100, untilMs: 10_000 };

describe('a batch', () => {
  it('notes what it names while the watch is open, to its last millisecond', () => {
    expect([isNoting(undefined, 5), isNoting(watch, 10_000), isNoting(watch, 10_001)]).toEqual([
      false,
      true,
      false,
    ]);
  });
});

describe('a deletion', () => {
  const settings = { clockSkewMs: 500 };

  it('relies on its own watch, until a clock might say that it has ended', () => {
    const at = (nowMs: number, watchId = 'w') => isRelied(settings, watch, { watchId, nowMs });
    expect([at(8_999), at(9_000), at(5, 'other')]).toEqual([true, false, false]);
    expect(isRelied(settings, undefined, { watchId: 'w', nowMs: 5 })).toBe(false);
  });

  it('reads again what batches may have noted that began before', () => {
    expect(seenAgainFromMs({ batchTimeLimitMs: 25_000, clockSkewMs: 5_000 }, 100_000)).toBe(65_000);
  });
});
