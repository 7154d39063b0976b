import { type ByteRange, sizeOf } from './byte-range.ts';
import type { Layout } from './layout.ts';
import type { Part } from './part.ts';
import type { VolumePlan } from './plan-volume.ts';

/** What a plan asks of workers and store. */
export interface PlanFigures {
  archiveBytes: number;
  /** Bytes that workers upload. */
  throughBytes: number;
  /** Bytes that the store copies from objects. */
  copiedBytes: number;
  volumes: number;
  shards: number;
  /** GET requests: one for each object in each uploaded part. */
  gets: number;
  uploads: number;
  /** Copied parts, those from shards too. */
  copies: number;
}

/** Adds up what the volumes of an export ask for. It walks through all parts once. */
export function figuresOf(volumes: readonly VolumePlan[]): PlanFigures {
  const figures: PlanFigures = {
    archiveBytes: 0,
    throughBytes: 0,
    copiedBytes: 0,
    volumes: volumes.length,
    shards: 0,
    gets: 0,
    uploads: 0,
    copies: 0,
  };
  for (const { layout, parts } of volumes) {
    figures.archiveBytes += layout.sizeBytes;
    for (const part of parts()) {
      if (part.kind !== 'shard') addPart(figures, layout, part);
      else {
        figures.shards += 1;
        figures.copies += 1;
        for (const own of part.parts()) addPart(figures, layout, own);
      }
    }
  }
  return figures;
}

function addPart(figures: PlanFigures, layout: Layout, part: Part): void {
  const bytes = sizeOf(part);
  if (part.kind === 'copy') {
    figures.copies += 1;
    figures.copiedBytes += bytes;
  } else {
    figures.uploads += 1;
    figures.throughBytes += bytes;
    figures.gets += objectsIn(layout, part);
  }
}

function objectsIn(layout: Layout, range: ByteRange): number {
  let count = 0;
  for (const _placed of layout.dataIn(range)) count += 1;
  return count;
}
