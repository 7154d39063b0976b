import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { ownCpuMs, peakMemoryMb, serve } from '../serve.ts';

/** Ways to count a path in a process of this project: its scan, with and without an estimate, and the SDK. */
export type SubjectKind = 'hint' | 'probe' | 'sixteen' | 'sdk';

/** What one count gave, and what it needed. */
export interface Counted {
  readonly objects: number;
  readonly bytes: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Largest resident memory of the process so far. */
  readonly peakMb?: number;
}

const prefix = 'acme/app/';
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench-secret' };
const [kind, endpoint = '', bucket = ''] = process.argv.slice(2) as [SubjectKind, string, string];
const place = { region: 'us-east-1', endpoint, forcePathStyle: true };

function createScan(): (objects: number) => Promise<Pick<Counted, 'objects' | 'bytes'>> {
  const client = new BucketClient({ ...place, bucket, credentials: async () => credentials });
  const listing = new ScanListing({ client });
  const scan = createPathScan({ listing, clock: systemClock, settings: defaultSettings });
  return async (objects) => {
    const strategy = kind === 'probe' || kind === 'sixteen' ? { kind } : { kind: 'hint' as const, objects };
    const outcome = await scan.scan({ prefix, strategy });
    if (outcome.kind !== 'done') throw new Error('The scan did not finish.');
    return { objects: outcome.objectCount, bytes: outcome.storedBytes };
  };
}

/** The SDK's paginator, used as its documentation shows. */
function createSdk(): () => Promise<Pick<Counted, 'objects' | 'bytes'>> {
  const client = new S3Client({ ...place, credentials });
  return async () => {
    let objects = 0;
    let bytes = 0;
    for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })) {
      for (const { Size = 0 } of page.Contents ?? []) {
        objects += 1;
        bytes += Size;
      }
    }
    return { objects, bytes };
  };
}

const count = kind === 'sdk' ? createSdk() : createScan();

const api = {
  count: async (objects: number): Promise<Counted> => {
    const [cpu, startedMs] = [process.cpuUsage(), performance.now()];
    const counted = await count(objects);
    return {
      ...counted,
      wallMs: performance.now() - startedMs,
      cpuMs: ownCpuMs(cpu),
      peakMb: peakMemoryMb(),
    };
  },
};

export type SubjectApi = typeof api;

serve(api);
