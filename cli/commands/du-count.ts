import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import type { ScanStrategy } from '../../lambda/domain/scan/strategy.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { ScanProgress } from '../../lambda/ports/path-scan.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { defaultCredentials } from '../default-credentials.ts';
import { explainStoreError } from './du-errors.ts';

export interface DuTarget {
  readonly bucket: string;
  readonly prefix: string;
  /** Undefined: AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly strategy: ScanStrategy;
  /** Most requests at a time. */
  readonly concurrency: number;
}

export interface DuCount {
  readonly bytes: number;
  readonly objects: number;
  /** LIST requests that it took. */
  readonly requests: number;
}

/** Counts everything below a prefix. @throws {CliError} when the store refuses or does not answer. */
export async function countBelow(
  target: DuTarget,
  onProgress: (progress: ScanProgress) => void,
): Promise<DuCount> {
  const { bucket, prefix, endpoint, region, strategy, concurrency } = target;
  const client = new BucketClient({
    bucket,
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    credentials: defaultCredentials(region),
    socketsMax: concurrency,
    followsRegion: endpoint === undefined,
  });
  const listing = new ScanListing({ client });
  const scan = createPathScan({ listing, clock: systemClock, settings: defaultSettings });
  try {
    const outcome = await scan.scan({ prefix, strategy, concurrency, onPage: onProgress });
    if (outcome.kind !== 'done') throw new Error('A scan without a limit ended unfinished.');
    return { bytes: outcome.storedBytes, objects: outcome.objectCount, requests: outcome.requests };
  } catch (error) {
    throw explainStoreError(error, { bucket, endpoint, region });
  }
}
