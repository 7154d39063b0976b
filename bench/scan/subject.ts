import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { ScanListing } from '../../lambda/core/scan/list-objects.ts';
import { createPathScan } from '../../lambda/core/scan/path-scan.ts';
import { BucketClient } from '../../lambda/core/store/bucket-client.ts';
import { systemClock } from '../../lambda/frame/aws/clock-and-ids.ts';
import { serve } from '../serve.ts';
import { measured, type Used } from '../usage.ts';

/** Ways to count a path in a process of this project: its scan, with and without an estimate, and the SDK. */
export type SubjectKind = 'hint' | 'probe' | 'sixteen' | 'sdk';

interface Outcome {
  readonly objects: number;
  readonly bytes: number;
}

/** What one count gave, and what it needed. */
export type Counted = Outcome & Used;

const prefix = 'acme/app/';
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench-secret' };
const [kind, endpoint = '', bucket = ''] = process.argv.slice(2) as [SubjectKind, string, string];
const place = { region: 'us-east-1', endpoint, forcePathStyle: true };

function createScan(): (objects: number) => Promise<Outcome> {
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
function createSdk(): () => Promise<Outcome> {
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

serve(async (objects: number): Promise<Counted> => {
  const { result, ...used } = await measured(() => count(objects));
  return { ...result, ...used };
});
