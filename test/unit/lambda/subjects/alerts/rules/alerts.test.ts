import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  alertEvent,
  type Threshold,
  thresholdAfter,
} from '../../../../../../lambda/subjects/alerts/rules/alerts.ts';

const levelOf = (before: Threshold, storedBytes: number, limitBytes: number | null = 100) =>
  thresholdAfter({ before, storedBytes, limitBytes });

describe('the level of a tenant', () => {
  it.each([
    [0, 79, 0],
    [0, 80, 80],
    [0, 89, 80],
    [0, 90, 90],
    [0, 150, 90],
    [80, 80, 80],
    [80, 75, 80],
    [80, 74, 0],
    [80, 90, 90],
    [80, 0, 0],
    [90, 90, 90],
    [90, 85, 90],
    [90, 84, 80],
    [90, 75, 80],
    [90, 74, 0],
    [90, 0, 0],
  ] as const)('from %i with %i %% is %i', (before, percent, expected) => {
    expect(levelOf(before, percent)).toBe(expected);
  });

  it('is 0 without a limit, and the highest with a limit of 0 as soon as something is stored', () => {
    expect(levelOf(90, 1e15, null)).toBe(0);
    expect(levelOf(0, 0, 0)).toBe(0);
    expect(levelOf(0, 1, 0)).toBe(90);
    expect(levelOf(90, 0, 0)).toBe(0);
  });

  it('is exact for the largest numbers', () => {
    const limit = 2 ** 53 - 1;
    expect(levelOf(0, Math.floor(limit * 0.79), limit)).toBe(0);
    expect(levelOf(0, Math.ceil(limit * 0.81), limit)).toBe(80);
    expect(levelOf(0, limit, limit)).toBe(90);
  });

  it('settles at once: the same count changes it no further', () => {
    const levels = fc.constantFrom<Threshold>(0, 80, 90);
    fc.assert(
      fc.property(levels, fc.nat(200), fc.nat(200), (before, stored, limit) => {
        const once = levelOf(before, stored, limit);
        expect(levelOf(once, stored, limit)).toBe(once);
      }),
    );
  });

  it('does not go up and down while the count moves by less than five points', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 78, max: 82 }), { maxLength: 50 }), (percents) => {
        let threshold: Threshold = 0;
        let changes = 0;
        for (const percent of percents) {
          const next = levelOf(threshold, percent);
          changes += next === threshold ? 0 : 1;
          threshold = next;
        }
        expect(changes).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('an event', () => {
  const figures = { atMs: Date.UTC(2026, 10, 21, 5), storedBytes: 85, limitBytes: 100 };

  it('has an id, a type and what happened', () => {
    const alert = { kind: 'threshold', ...figures, threshold: 80, previousThreshold: 0 } as const;
    expect(alertEvent('acme', { seq: 7, alert })).toEqual({
      id: 'acme:7',
      type: 'storage.threshold',
      timestamp: '2026-11-21T05:00:00.000Z',
      data: { tenant: 'acme', threshold: 80, previousThreshold: 0, storedBytes: 85, limitBytes: 100 },
    });
    expect(alertEvent('acme', { seq: 8, alert: { kind: 'limit_reached', ...figures } })).toMatchObject({
      id: 'acme:8',
      type: 'storage.limit_reached',
      data: { tenant: 'acme', storedBytes: 85, limitBytes: 100 },
    });
  });
});
