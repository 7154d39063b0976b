import { freeBound } from '../../lambda/domain/export/free-bound.ts';
import { gridBound } from '../../lambda/domain/export/grid-bound.ts';
import { planExport } from '../../lambda/domain/export/plan-export.ts';
import { figuresOf, type PlanFigures } from '../../lambda/domain/export/plan-figures.ts';
import type { PlanSettings } from '../../lambda/domain/export/plan-settings.ts';
import type { VolumePlan } from '../../lambda/domain/export/plan-volume.ts';
import type { StoredObject } from '../../lambda/domain/export/stored-object.ts';
import { tarFormat } from '../../lambda/domain/export/tar-format.ts';

export const benchInput = {
  format: tarFormat({ modifiedAtMs: 0 }),
  subject: { path: 'acme/app', startedAtMs: 0, missing: [] },
};

/** Plans a tar of all objects. */
export function planTar(objects: readonly StoredObject[], settings: PlanSettings): readonly VolumePlan[] {
  const plan = planExport({ objects, ...benchInput }, settings);
  if (plan.kind !== 'planned') throw new Error(`The export was not planned: ${plan.kind}.`);
  return plan.volumes;
}

export interface Through {
  /** Percent of the archive that workers upload. */
  readonly percent: number;
  /** Percent that no plan of this kind can be below. */
  readonly boundPercent: number;
}

/** How much of an archive goes through workers, and how much at least must. */
export function throughOf(objects: readonly StoredObject[], settings: PlanSettings): Through {
  const figures = figuresOf(planTar(objects, settings));
  return {
    percent: (100 * figures.throughBytes) / figures.archiveBytes,
    boundPercent: (100 * boundOf(objects, settings, figures)) / figures.archiveBytes,
  };
}

function boundOf(
  objects: readonly StoredObject[],
  { way, limits, cellBytes, copyFromBytes }: PlanSettings,
  { archiveBytes }: PlanFigures,
): number {
  const sizes = Float64Array.from(objects, ({ sizeBytes }) => sizeBytes).sort();
  if (way === 'copy-grid') return gridBound({ sizes, archiveBytes, cellBytes });
  const copyableSizes = sizes.filter((sizeBytes) => sizeBytes >= copyFromBytes);
  const otherBytes = archiveBytes - copyableSizes.reduce((sum, bytes) => sum + bytes, 0);
  return freeBound({ copyableSizes, otherBytes, partBytesMin: limits.partBytesMin }).throughBytes;
}

/** On a grid with the objects as they are listed: what an order is worth. */
export function percentAsGiven(objects: readonly StoredObject[], cellBytes: number): number {
  let at = 0;
  let copied = 0;
  for (const { sizeBytes } of objects) {
    const start = at + 512;
    copied += Math.max(0, Math.floor((start + sizeBytes) / cellBytes) - Math.ceil(start / cellBytes));
    at = Math.ceil((start + sizeBytes) / 512) * 512;
  }
  return 100 * (1 - (copied * cellBytes) / at);
}
