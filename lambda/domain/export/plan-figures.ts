import { type ByteRange, sizeOf } from './byte-range.ts';
import type { Layout } from './layout.ts';
import type { Part } from './part.ts';
import type { ShardPart, VolumePlan } from './plan-volume.ts';

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

/** What requests, bytes and time cost, in dollars. */
export interface ExportPrices {
  /** A request that writes, lists, or is about an upload. */
  readonly write: number;
  readonly read: number;
  /** A GB (10⁹ bytes) from the workers to the store. */
  readonly gbToStore: number;
  /** A worker for a second. */
  readonly workerSecond: number;
}

/** What a worker does in a second. */
export interface WorkerPace {
  readonly workers: number;
  /** Bytes that one worker reads and uploads in a second. */
  readonly bytesPerSecond: number;
  /** Seconds of a request to the store, beside its bytes. */
  readonly requestSeconds: number;
  /** Requests that one worker has under way. */
  readonly requestsAtOnce: number;
}

/** What a plan takes: requests, dollars, and seconds until it is done, with all workers. */
export function pricesOf(
  figures: PlanFigures,
  { prices, pace }: { prices: ExportPrices; pace: WorkerPace },
): { requests: number; dollars: number; seconds: number } {
  // Every upload is created and completed. Deletes of shards are free.
  const writes = figures.uploads + figures.copies + 2 * (figures.volumes + figures.shards);
  const requests = figures.gets + writes;
  const workerSeconds = Math.max(
    figures.throughBytes / pace.bytesPerSecond,
    (requests * pace.requestSeconds) / pace.requestsAtOnce,
  );
  const dollars =
    figures.gets * prices.read +
    writes * prices.write +
    (figures.throughBytes / 1e9) * prices.gbToStore +
    workerSeconds * prices.workerSecond;
  return { requests, dollars, seconds: workerSeconds / pace.workers };
}

/** What one part asks of workers and store. */
export type PartFigures = Pick<
  PlanFigures,
  'throughBytes' | 'copiedBytes' | 'shards' | 'gets' | 'uploads' | 'copies'
>;

/**
 * Adds up what the volumes of an export ask for. It walks through all parts once.
 *
 * @param onPart is told each part's own, and the index of its volume.
 */
export function figuresOf(
  volumes: readonly VolumePlan[],
  onPart?: (figures: PartFigures, volume: number) => void,
): PlanFigures {
  const all: PlanFigures = { ...none, archiveBytes: 0, volumes: volumes.length };
  for (const [volume, { layout, parts }] of volumes.entries()) {
    all.archiveBytes += layout.sizeBytes;
    for (const part of parts()) {
      const own = partFigures(part, layout);
      add(all, own);
      onPart?.(own, volume);
    }
  }
  return all;
}

const none: PartFigures = { throughBytes: 0, copiedBytes: 0, shards: 0, gets: 0, uploads: 0, copies: 0 };

/** What a part asks for. */
export function partFigures(part: Part | ShardPart, layout: Layout): PartFigures {
  const bytes = sizeOf(part);
  if (part.kind === 'copy') return { ...none, copies: 1, copiedBytes: bytes };
  if (part.kind === 'upload')
    return { ...none, uploads: 1, throughBytes: bytes, gets: objectsIn(layout, part) };
  const shard = { ...none, shards: 1, copies: 1 };
  for (const own of part.parts()) add(shard, partFigures(own, layout));
  return shard;
}

function add(to: { -readonly [K in keyof PartFigures]: number }, from: PartFigures): void {
  to.throughBytes += from.throughBytes;
  to.copiedBytes += from.copiedBytes;
  to.shards += from.shards;
  to.gets += from.gets;
  to.uploads += from.uploads;
  to.copies += from.copies;
}

function objectsIn(layout: Layout, range: ByteRange): number {
  let count = 0;
  for (const _placed of layout.dataIn(range)) count += 1;
  return count;
}
