import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import type { ScanStrategy } from '../../lambda/domain/scan/strategy.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { PathScanInput } from '../../lambda/ports/path-scan.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { defaultCredentials } from '../default-credentials.ts';
import type { Checkpoint, ScanIdentity } from './checkpoint.ts';
import { Pace } from './pace.ts';
import { PacedListing } from './paced-listing.ts';
import { type DuCount, type DuSums, Tally } from './tally.ts';

/** Pages that are on their way when the scan is stopped may still arrive for this long. */
const drainMs = 3_000;

export interface DuTarget {
  readonly scan: ScanIdentity;
  readonly region: string;
  readonly strategy: ScanStrategy;
  /** Most requests at a time. */
  readonly concurrency: number;
  /** Most requests a second; undefined: no limit. */
  readonly rateMax: number | undefined;
}

/** How far a count is. */
export interface DuProgress {
  readonly sums: DuSums;
  /** Share of the key space that was counted; undefined if that means nothing. */
  readonly share: number | undefined;
  /** Requests a second to which the store has slowed the scan down; undefined if it has not. */
  readonly slowedTo: number | undefined;
}

export interface DuCountInput {
  readonly target: DuTarget;
  /** What an earlier process saved of the same scan. */
  readonly found?: Checkpoint | undefined;
  /** Ends the count early. */
  readonly stop: AbortSignal;
  readonly nowMs: () => number;
  /** Called once, before the first request, with what can be saved at any time. */
  readonly onBegin: (checkpoint: () => Checkpoint | undefined) => void;
  readonly onProgress: (progress: () => DuProgress) => void;
}

/**
 * Counts everything below a prefix.
 *
 * @returns isDone false: it was stopped.
 * @throws what the store refuses with, or does not answer with.
 */
export async function countBelow(input: DuCountInput): Promise<{ isDone: boolean; count: DuCount }> {
  const { target, found, stop } = input;
  let failed = 0;
  const client = openClient(target, (status) => {
    if (status >= 500) failed += 1;
  });
  const pace = new Pace({ rateMax: target.rateMax });
  // Attempts are made one by one, so that each waits for its turn.
  const listing = new PacedListing({ listing: new ScanListing({ client, retry: { attemptsMax: 1 } }), pace });
  const traffic = () => ({ requests: listing.requests, throttled: listing.throttled, failed });
  const tally = new Tally({ traffic, nowMs: input.nowMs }, { scan: target.scan, found });
  const release = drainAt(stop, listing);
  const scan = createPathScan({ listing, clock: systemClock, settings: defaultSettings });
  try {
    const outcome = await scan.scan({
      prefix: target.scan.prefix,
      concurrency: target.concurrency,
      ...beginning(target, found),
      stop,
      onBegin: (restOf) => {
        tally.restOf = restOf;
        input.onBegin(() => tally.checkpoint());
      },
      onPart: (part) => tally.add(part),
      onPage: ({ share }) => input.onProgress(() => ({ sums: tally.sums, share, slowedTo: pace.slowedTo })),
    });
    tally.end();
    return { isDone: outcome.kind === 'done', count: tally.count };
  } finally {
    release();
    client.destroy();
  }
}

function openClient(target: DuTarget, onAnswer: (status: number) => void): BucketClient {
  const { scan, region, concurrency } = target;
  const { bucket, endpoint } = scan;
  return new BucketClient({
    bucket,
    region,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    credentials: defaultCredentials(region),
    socketsMax: concurrency,
    followsRegion: endpoint === null,
    onAnswer,
  });
}

/** How the scan begins, or goes on: then it knows best itself how many keys to expect. */
function beginning(
  { scan, strategy }: DuTarget,
  found: Checkpoint | undefined,
): Pick<PathScanInput, 'strategy' | 'resume'> {
  if (!found?.rest) return { strategy };
  // The tally has the sums.
  const none = { storedBytes: 0, objectCount: 0, seen: [], requests: 0 };
  const { ranges, objectsExpected } = found.rest;
  const resume = {
    ...none,
    prefix: scan.prefix,
    ranges,
    objectsExpected,
    isSequential: scan.order === 'sequential',
  };
  return strategy.kind === 'hint' || scan.order !== 'parallel' ? { resume, strategy } : { resume };
}

/** @returns what stops listening. */
function drainAt(stop: AbortSignal, listing: PacedListing): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onStop = () => {
    const reason = new Error('The scan was stopped.');
    listing.close(reason);
    timer = setTimeout(() => listing.abort(reason), drainMs);
  };
  stop.addEventListener('abort', onStop, { once: true });
  return () => {
    stop.removeEventListener('abort', onStop);
    clearTimeout(timer);
  };
}
