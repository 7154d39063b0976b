import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { levelAfter, type WarningLevel, warningEvent } from '../../../../../lambda/alerts/rules/alerts.ts';

const levelOf = (before: WarningLevel, storedBytes: number, limitBytes: number | null = 100) =>
  levelAfter({ before, storedBytes, limitBytes });

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
    const levels = fc.constantFrom<WarningLevel>(0, 80, 90);
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
        let level: WarningLevel = 0;
        let changes = 0;
        for (const percent of percents) {
          const next = levelOf(level, percent);
          changes += next === level ? 0 : 1;
          level = next;
        }
        expect(changes).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('an event', () => {
  const figures = { atMs: Date.UTC(2026, 10, 21, 5), storedBytes: 85, limitBytes: 100 };

  it('has an id, a type and what happened', () => {
    const warning = { kind: 'level', ...figures, level: 80, previousLevel: 0 } as const;
    expect(warningEvent('acme', { seq: 7, warning })).toEqual({
      id: 'acme:7',
      type: 'storage.level',
      timestamp: '2026-11-21T05:00:00.000Z',
      data: { tenant: 'acme', level: 80, previousLevel: 0, storedBytes: 85, limitBytes: 100 },
    });
    expect(warningEvent('acme', { seq: 8, warning: { kind: 'full', ...figures } })).toMatchObject({
      id: 'acme:8',
      type: 'storage.full',
      data: { tenant: 'acme', storedBytes: 85, limitBytes: 100 },
    });
  });
});
