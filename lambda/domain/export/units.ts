import { sizeOf } from './byte-range.ts';
import type { WorkerPace } from './explain.ts';
import type { VolumePlan } from './plan-volume.ts';
import type { StoredObject } from './stored-object.ts';
import { type OrderContext, type OrderedPart, orderedLeaf } from './work-order.ts';

/** An export has no more units: each is an order in the store, and a message. */
const unitsMax = 400;
/** What a unit is meant to take: messages and orders are to be little beside it, and a worker that fails loses little. */
const unitSecondsAim = 2;
/** A unit takes at least as long, or messages and orders would take most of the time. */
const unitSecondsMin = 0.5;

/** The parts of an archive as orders say them, one by one. */
export function* orderedParts(
  { parts }: VolumePlan,
  context: OrderContext & { volume: number },
): Generator<OrderedPart> {
  let number = 0;
  for (const part of parts()) {
    number += 1;
    const numbered = { volume: context.volume, number, sizeBytes: sizeOf(part) };
    if (part.kind === 'shard') {
      const own = Array.from(part.parts(), (each) => orderedLeaf(each, context));
      yield { ...numbered, kind: 'shard', parts: own };
    } else yield { ...orderedLeaf(part, context), ...numbered };
  }
}

/**
 * Shares parts out to units, in their order: at most 400. A unit is what one worker does at a time: of nearly the same
 * duration, and never empty. Each worker gets equally many, or the last ones would be done by a few while the others wait.
 *
 * @param total.seconds the sum of what `secondsOf` says of each.
 */
export function* unitsOf(
  parts: Iterable<OrderedPart>,
  total: { seconds: number; pace: WorkerPace },
): Generator<OrderedPart[]> {
  const { seconds, pace } = total;
  const target = seconds / unitCountOf(total);
  let unit: OrderedPart[] = [];
  let sharedSeconds = 0;
  // By the sum of all, so that what one unit has too much, the next does not get.
  let endsAtSeconds = target;
  for (const part of parts) {
    const partSeconds = secondsOf(part, pace);
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

/** Bytes that a worker uploads, and requests that it makes, for a part. */
function workOf(part: OrderedPart): { throughBytes: number; requests: number } {
  if (part.kind === 'copy') return { throughBytes: 0, requests: 1 };
  if (part.kind === 'upload') return uploadWork(part);
  const work = { throughBytes: 0, requests: 3 };
  for (const own of part.parts) {
    const { throughBytes, requests } =
      own.kind === 'copy' ? { throughBytes: 0, requests: 1 } : uploadWork(own);
    work.throughBytes += throughBytes;
    work.requests += requests;
  }
  return work;
}

function uploadWork(part: { sizeBytes: number; pieces: readonly { kind: string }[] }) {
  const reads = part.pieces.filter(({ kind }) => kind === 'object' || kind === 'made').length;
  return { throughBytes: part.sizeBytes, requests: 1 + reads };
}

/** Seconds that a worker needs for a part. */
export function secondsOf(part: OrderedPart, pace: WorkerPace): number {
  const { throughBytes, requests } = workOf(part);
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
