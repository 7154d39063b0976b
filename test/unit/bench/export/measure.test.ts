import { describe, expect, it } from 'vitest';
import { percentAsGiven, throughOf } from '../../../../bench/export/measure.ts';
import { challenge, makeObjects, objectSets } from '../../../../bench/export/object-sets.ts';
import { quickestSettings } from '../../../../lambda/domain/export/plan-settings.ts';
import { r2Limits, s3Limits } from '../../../../lambda/domain/export/store-limits.ts';

const mebibyte = 1024 ** 2;
const seeds = [1, 2];
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function meansOf(set: (typeof objectSets)[number], settings: ReturnType<typeof quickestSettings>) {
  const measured = seeds.map((seed) => throughOf(makeObjects(set, { count: 3000, seed }), settings));
  return {
    percent: mean(measured.map(({ percent }) => percent)),
    bound: mean(measured.map(({ boundPercent }) => boundPercent)),
  };
}

describe('what goes through workers', () => {
  it('is at most 53.5 % of the challenge in free parts', () => {
    expect(meansOf(challenge, quickestSettings(s3Limits)).percent).toBeLessThan(53.5);
  });

  it.each(objectSets.filter((set) => set !== challenge))('is near the bound in free parts: $name', (set) => {
    const { percent, bound } = meansOf(set, quickestSettings(s3Limits));
    expect(percent).toBeGreaterThanOrEqual(bound);
    expect(percent - bound).toBeLessThan(0.15);
  });

  it.each(objectSets)('is near the bound on a grid: $name', (set) => {
    for (const cell of [5, 16]) {
      const { percent, bound } = meansOf(set, { ...quickestSettings(r2Limits), cellBytes: cell * mebibyte });
      expect(percent).toBeGreaterThanOrEqual(bound - 1e-9);
      expect(percent - bound).toBeLessThan(1.1);
    }
  });

  it('is much more on a grid with the objects as they are listed', () => {
    const objects = makeObjects(challenge, { count: 3000, seed: 1 });
    expect(percentAsGiven(objects, 5 * mebibyte)).toBeGreaterThan(90);
    const { percent } = throughOf(objects, { ...quickestSettings(r2Limits) });
    expect(percent).toBeLessThan(58);
  });
});
