import { sizeOf } from './byte-range.ts';
import type { WorkerPace } from './explain.ts';
import type { VolumePlan } from './plan-volume.ts';
import type { StoredObject } from './stored-object.ts';
import { type OrderContext, type OrderedPart, orderedLeaf } from './work-order.ts';

/** As many units as an export is meant to have. Two that follow each other are fuller than one, so there are twice as many at most. */
const unitsAim = 400;
/** A unit takes at least as long, or messages and orders would take most of the time. */
const unitSecondsMin = 2;

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
 * Shares parts out to units, in their order: at most 801. A unit is what one worker does at a time: of nearly the same
 * duration, and never empty.
 *
 * @param total.seconds the sum of what `secondsOf` says of each.
 */
export function* unitsOf(
  parts: Iterable<OrderedPart>,
  total: { seconds: number; pace: WorkerPace },
): Generator<OrderedPart[]> {
  const { seconds, pace } = total;
  const target = Math.max(unitSecondsMin, seconds / unitsAim);
  let unit: OrderedPart[] = [];
  let unitSeconds = 0;
  for (const part of parts) {
    const partSeconds = secondsOf(part, pace);
    if (unit.length > 0 && unitSeconds + partSeconds > target) {
      yield unit;
      unit = [];
      unitSeconds = 0;
    }
    unit.push(part);
    unitSeconds += partSeconds;
  }
  if (unit.length > 0) yield unit;
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
  const bytesMax = Math.max(hashSecondsMin * pace.bytesPerSecond, allBytes / unitsAim);
  const objectsMax = Math.max(hashedObjectsMin, Math.ceil(objects.length / unitsAim));
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
