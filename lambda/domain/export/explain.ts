import { type ExportInput, planExport } from './plan-export.ts';
import { figuresOf, type PlanFigures } from './plan-figures.ts';
import type { PlanSettings, Way } from './plan-settings.ts';
import type { StoredObject } from './stored-object.ts';

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

/** What one way of making an export takes. */
export interface WayExplained extends PlanFigures {
  readonly kind: 'possible';
  readonly way: Way;
  readonly requests: number;
  readonly dollars: number;
  /** Until it is done, with all workers. */
  readonly seconds: number;
}

export type Explained =
  | WayExplained
  /** The store takes no parts of different sizes. */
  | { readonly kind: 'not-in-this-store'; readonly way: Way }
  | { readonly kind: 'object-too-large'; readonly way: Way; readonly object: StoredObject };

const ways: readonly Way[] = ['stream', 'copy-free', 'copy-grid'];

/** Plans an export in each way, and tells what each takes. Nothing is read or written. */
export function explainExport(
  input: ExportInput,
  settings: PlanSettings,
  rates: { prices: ExportPrices; pace: WorkerPace },
): Explained[] {
  return ways.map((way): Explained => {
    if (way === 'copy-free' && settings.limits.wantsEqualParts) return { kind: 'not-in-this-store', way };
    const plan = planExport(input, { ...settings, way });
    if (plan.kind !== 'planned') return { ...plan, way };
    return { kind: 'possible', way, ...pricedFigures(figuresOf(plan.volumes), rates) };
  });
}

/** What a plan takes: the figures with requests, dollars, and seconds of all workers. */
export function pricedFigures(
  figures: PlanFigures,
  { prices, pace }: { prices: ExportPrices; pace: WorkerPace },
) {
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
  return { ...figures, requests, dollars, seconds: workerSeconds / pace.workers };
}

/**
 * The size from which it costs less to copy an object than to upload it, in parts of any size. A copy takes two
 * requests that write, its own and that of the run before it, and the run's bytes; an upload takes the worker's time
 * and a share of a part. On a grid a copied cell costs the same request as an uploaded one, so it never costs more.
 *
 * @returns at least the smallest part.
 */
export function breakEvenCopyBytes(
  settings: PlanSettings,
  { prices, pace }: { prices: ExportPrices; pace: WorkerPace },
): number {
  const byteDollars =
    prices.workerSecond / pace.bytesPerSecond +
    prices.gbToStore / 1e9 +
    prices.write / settings.uploadBytesMax;
  return Math.ceil(settings.limits.partBytesMin + (2 * prices.write) / byteDollars);
}
