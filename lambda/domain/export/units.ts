import type { Part } from './part.ts';
import { type PartFigures, partFigures, type WorkerPace } from './plan-figures.ts';
import type { ShardPart, VolumePlan } from './plan-volume.ts';
import type { StoredObject } from './stored-object.ts';

/** An export has no more units: each is an order in the store, and a message. */
const unitsMax = 400;
/** What a unit is meant to take: messages and orders are to be little beside it, and a worker that fails loses little. */
const unitSecondsAim = 2;
/** A unit takes at least as long, or messages and orders would take most of the time. */
const unitSecondsMin = 0.5;

/** A part of an archive, and what a worker needs for it. */
export interface PlannedPart {
  /** The index of its volume. */
  readonly volume: number;
  /** Of its upload, from 1. */
  readonly number: number;
  readonly part: Part | ShardPart;
  readonly seconds: number;
}

/** The parts of all archives of an export, one by one. */
export function* plannedParts(volumes: readonly VolumePlan[], pace: WorkerPace): Generator<PlannedPart> {
  for (const [volume, { layout, parts }] of volumes.entries()) {
    let number = 0;
    for (const part of parts()) {
      number += 1;
      yield { volume, number, part, seconds: secondsOf(partFigures(part, layout), pace) };
    }
  }
}

/**
 * Shares parts out to units, in their order: at most 400. A unit is what one worker does at a time: of nearly the same
 * duration, and never empty. Each worker gets equally many, or the last ones would be done by a few while the others wait.
 *
 * @param total.seconds the sum of those of all parts.
 */
export function* unitsOf<T extends { readonly seconds: number }>(
  parts: Iterable<T>,
  total: { seconds: number; pace: WorkerPace },
): Generator<T[]> {
  const target = total.seconds / unitCountOf(total);
  let unit: T[] = [];
  let sharedSeconds = 0;
  // By the sum of all, so that what one unit has too much, the next does not get.
  let endsAtSeconds = target;
  for (const part of parts) {
    const partSeconds = part.seconds;
    if (unit.length > 0 && sharedSeconds + partSeconds / 2 > endsAtSeconds) {
      yield unit;
      unit = [];
      while (sharedSeconds + partSeconds / 2 > endsAtSeconds) endsAtSeconds += target;
    }
    unit.push(part);
    sharedSeconds += partSeconds;
  }
  if (unit.length > 0) yield unit;
}

/** How many units there are to be: as many for each worker, unless they would be too short or too many. */
function unitCountOf({ seconds, pace }: { seconds: number; pace: WorkerPace }): number {
  const { workers } = pace;
  const forEach = Math.min(Math.ceil(seconds / workers / unitSecondsAim), Math.floor(unitsMax / workers));
  return Math.max(
    1,
    Math.min(Math.max(1, forEach) * workers, Math.floor(seconds / unitSecondsMin), unitsMax),
  );
}

/** Seconds that a worker needs for a part. */
export function secondsOf(part: PartFigures, pace: WorkerPace): number {
  const { throughBytes, gets, uploads, copies, shards } = part;
  // A shard has an upload of its own, which is begun and completed.
  const requests = gets + uploads + copies + 2 * shards;
  return Math.max(throughBytes / pace.bytesPerSecond, (requests * pace.requestSeconds) / pace.requestsAtOnce);
}

/** Objects whose CRC-32 one worker finds at a time, and seconds of reading them: at least as many, if there are more. */
const hashedObjectsMin = 1000;
const hashSecondsMin = 10;

/** Shares the objects whose CRC-32 is to be found out to units: at most 1,000. */
export function* hashUnits(
  objects: readonly StoredObject[],
  { pace }: { pace: WorkerPace },
): Generator<readonly StoredObject[]> {
  const allBytes = objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const bytesMax = Math.max(hashSecondsMin * pace.bytesPerSecond, allBytes / unitsMax);
  const objectsMax = Math.max(hashedObjectsMin, Math.ceil(objects.length / unitsMax));
  let first = 0;
  let bytes = 0;
  for (const [index, { sizeBytes }] of objects.entries()) {
    if (index > first && (index - first >= objectsMax || bytes + sizeBytes > bytesMax)) {
      yield objects.slice(first, index);
      first = index;
      bytes = 0;
    }
    bytes += sizeBytes;
  }
  if (first < objects.length) yield objects.slice(first);
}
