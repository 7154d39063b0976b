import { describe, expect, it } from 'vitest';
import { r2Limits, s3Limits } from '../../../../../../lambda/core/store/rules/store-kind.ts';
import { tarFormat } from '../../../../../../lambda/subjects/exports/rules/archive-formats.ts';
import type { StoredObject } from '../../../../../../lambda/subjects/exports/rules/objects.ts';
import { freeBound } from '../../../../../../lambda/subjects/exports/rules/parts.ts';
import { figuresOf, planExport } from '../../../../../../lambda/subjects/exports/rules/plan.ts';
import {
  type PlanSettings,
  quickestSettings,
} from '../../../../../../lambda/subjects/exports/rules/settings.ts';
import { gridBound } from '../../../../../support/subjects/exports/grid-bound.ts';
import { challenge, makeObjects, objectSets } from '../../../../../support/subjects/exports/object-sets.ts';

const mebibyte = 1024 ** 2;
const seeds = [1, 2];
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Percent of a tar of all objects that workers upload, and that no plan of this kind can be below. */
function throughOf(objects: readonly StoredObject[], settings: PlanSettings) {
  const format = tarFormat({ modifiedAtMs: 0 });
  const subject = { path: 'acme/app', startedAtMs: 0, missing: [] };
  const plan = planExport({ objects, format, subject }, settings);
  if (plan.kind !== 'planned') throw new Error(`The export was not planned: ${plan.kind}.`);
  const { throughBytes, archiveBytes } = figuresOf(plan.volumes);
  const bound = boundOf(objects, settings, archiveBytes);
  return { percent: (100 * throughBytes) / archiveBytes, bound: (100 * bound) / archiveBytes };
}

function boundOf(
  objects: readonly StoredObject[],
  { way, limits, cellBytes }: PlanSettings,
  archiveBytes: number,
): number {
  const sizes = Float64Array.from(objects, ({ sizeBytes }) => sizeBytes).sort();
  if (way === 'copy-grid') return gridBound({ sizes, archiveBytes, cellBytes });
  const copyableSizes = sizes.filter((sizeBytes) => sizeBytes >= limits.partBytesMin);
  const otherBytes = archiveBytes - copyableSizes.reduce((sum, bytes) => sum + bytes, 0);
  return freeBound({ copyableSizes, otherBytes, partBytesMin: limits.partBytesMin }).throughBytes;
}

/** The same on a grid with the objects as they are listed: what an order is worth. */
function percentAsListed(objects: readonly StoredObject[], cellBytes: number): number {
  let at = 0;
  let copied = 0;
  for (const { sizeBytes } of objects) {
    const start = at + 512;
    copied += Math.max(0, Math.floor((start + sizeBytes) / cellBytes) - Math.ceil(start / cellBytes));
    at = Math.ceil((start + sizeBytes) / 512) * 512;
  }
  return 100 * (1 - (copied * cellBytes) / at);
}

function meansOf(set: (typeof objectSets)[number], settings: PlanSettings) {
  const measured = seeds.map((seed) => throughOf(makeObjects(set, { count: 3000, seed }), settings));
  return {
    percent: mean(measured.map(({ percent }) => percent)),
    bound: mean(measured.map(({ bound }) => bound)),
  };
}

describe('the percentage of an archive that goes through workers', () => {
  it('is at most 53.5 of the challenge in free parts', () => {
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
    expect(percentAsListed(objects, 5 * mebibyte)).toBeGreaterThan(90);
    expect(throughOf(objects, quickestSettings(r2Limits)).percent).toBeLessThan(58);
  });
});
