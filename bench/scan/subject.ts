import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import type { ScanStrategy } from '../../lambda/domain/scan/strategy.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { ListedPage, ListPageRequest } from '../../lambda/ports/object-listing.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';

/** The ways of counting a path that are compared. */
export type SubjectKind = 'sdk' | 'sdk-16' | 'sequential' | 'fixed-16' | 'probe' | 'sixteen' | 'hint';

/** Runs once per process, before anything is measured. */
export async function warmUp(endpoint: string): Promise<void> {
  await listingOf(endpoint, 'none').warmUp();
}

export interface Counted {
  readonly objects: number;
  readonly bytes: number;
  /** Longest chain of requests in which each waits for the one before. Undefined if not observed. */
  readonly rounds: number | undefined;
}

const prefix = 'acme/app/';
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench-secret' };

/** A way of counting that is set up once and runs many times, as in a warm container. */
export function createSubject(
  kind: SubjectKind,
  endpoint: string,
): (bucket: { name: string; objects: number }) => Promise<Counted> {
  if (kind === 'sdk' || kind === 'sdk-16') return createSdkSubject(kind, endpoint);
  const listings = new Map<string, ScanListing>();
  return async ({ name, objects }) => {
    const listing = listings.get(name) ?? listingOf(endpoint, name);
    listings.set(name, listing);
    const depth = new DepthListing(listing);
    const scan = createPathScan({ listing: depth, clock: systemClock, settings: defaultSettings });
    const outcome = await scan.scan({ prefix, strategy: strategyOf(kind, objects) });
    if (outcome.kind !== 'done') throw new Error('The scan was not finished.');
    return { objects: outcome.objectCount, bytes: outcome.storedBytes, rounds: depth.rounds };
  };
}

function listingOf(endpoint: string, bucket: string): ScanListing {
  const place = { bucket, region: 'us-east-1', endpoint, forcePathStyle: true };
  return new ScanListing({ client: new BucketClient({ ...place, credentials: async () => credentials }) });
}

function strategyOf(kind: Exclude<SubjectKind, 'sdk' | 'sdk-16'>, objects: number): ScanStrategy {
  if (kind === 'hint') return { kind, objects };
  return { kind: kind === 'fixed-16' ? 'fixed-sixteen' : kind };
}

/** The SDK's paginator, used as its documentation shows: over one prefix, or over 16 in parallel. */
function createSdkSubject(kind: 'sdk' | 'sdk-16', endpoint: string) {
  const client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true, credentials });
  const prefixes = kind === 'sdk' ? [prefix] : [...'0123456789abcdef'].map((digit) => prefix + digit);
  return async ({ name }: { name: string }): Promise<Counted> => {
    let objects = 0;
    let bytes = 0;
    const countPrefix = async (Prefix: string) => {
      let pages = 0;
      for await (const page of paginateListObjectsV2({ client }, { Bucket: name, Prefix })) {
        pages += 1;
        for (const { Size = 0 } of page.Contents ?? []) {
          objects += 1;
          bytes += Size;
        }
      }
      return pages;
    };
    const pages = await Promise.all(prefixes.map(countPrefix));
    return { objects, bytes, rounds: Math.max(...pages) };
  };
}

/**
 * Observes the longest chain of requests that wait for each other. It is an upper bound: a request may begin after
 * a page of another lane without having waited for it.
 */
class DepthListing {
  readonly #listing: ScanListing;
  #depth = 0;

  constructor(listing: ScanListing) {
    this.#listing = listing;
  }

  get rounds(): number {
    return this.#depth;
  }

  async listPage(request: ListPageRequest): Promise<ListedPage> {
    const depth = this.#depth + 1;
    const page = await this.#listing.listPage(request);
    this.#depth = Math.max(this.#depth, depth);
    return page;
  }
}
