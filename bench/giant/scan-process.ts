import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { ListPageRequest } from '../../lambda/ports/object-listing.ts';
import type { PathScanInput, PathScanOutcome } from '../../lambda/ports/path-scan.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { peakMemoryMb } from '../child/peak-memory.ts';
import { serve } from '../child/serve.ts';

/** The process at a moment of a scan. */
export interface Sample {
  readonly atMs: number;
  readonly keys: number;
  readonly residentMb: number;
}

export interface ScanRun {
  readonly objects: number;
  readonly bytes: number;
  readonly requests: number;
  /** What is left. Undefined: nothing. */
  readonly rest: Extract<PathScanOutcome, { kind: 'unfinished' }>['rest'] | undefined;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
  readonly samples: readonly Sample[];
}

const [endpoint = '', bucket = ''] = process.argv.slice(2);
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench-secret' };
const place = { bucket, region: 'us-east-1', endpoint, forcePathStyle: true };
const listing = new ScanListing({
  client: new BucketClient({ ...place, credentials: async () => credentials }),
});

/** Keys listed by this process. `onPage` would tell too, but it also computes the share of the key space. */
let keys = 0;
const counting = {
  listPage: async (request: ListPageRequest) => {
    const page = await listing.listPage(request);
    keys += page.keyCount;
    return page;
  },
};
const scan = createPathScan({ listing: counting, clock: systemClock, settings: defaultSettings });

const api = {
  /** @param sampleMs time between two samples. 0: none are taken. */
  scan: async (input: PathScanInput, sampleMs: number): Promise<ScanRun> => {
    const samples: Sample[] = [];
    const startedMs = performance.now();
    const cpu = process.cpuUsage();
    const sample = () => {
      const residentMb = process.memoryUsage.rss() / 2 ** 20;
      samples.push({ atMs: performance.now() - startedMs, keys, residentMb });
    };
    const timer = sampleMs === 0 ? undefined : setInterval(sample, sampleMs);
    const outcome = await scan.scan(input);
    clearInterval(timer);
    const { user, system } = process.cpuUsage(cpu);
    const rest = outcome.kind === 'unfinished' ? outcome.rest : undefined;
    const { objectCount: objects, storedBytes: bytes } =
      outcome.kind === 'unfinished' ? outcome.rest : outcome;
    const wallMs = performance.now() - startedMs;
    const { requests } = outcome;
    return {
      objects,
      bytes,
      requests,
      rest,
      wallMs,
      cpuMs: (user + system) / 1000,
      peakMb: peakMemoryMb(),
      samples,
    };
  },
};

export type ScanApi = typeof api;

serve(api);
