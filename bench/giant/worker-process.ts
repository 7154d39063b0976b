import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { createInvocations } from '../../lambda/adapters/system/invocations.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { create } from '../../lambda/handlers/scan-shard.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { lambdaContext } from '../../local/lambda-context.ts';
import { serve } from '../child/serve.ts';

/** The function that scans shards, as a process: the handler that is deployed, over a list server. */

const [endpoint = '', bucket = ''] = process.argv.slice(2);
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench-secret' };
const place = { bucket, region: 'us-east-1', endpoint, forcePathStyle: true };
const client = new BucketClient({ ...place, credentials: async () => credentials });
const listing = new ScanListing({ client });
const log = { info: () => {}, warn: () => {}, error: () => {} };
const handler = create({
  scan: createPathScan({ listing, clock: systemClock, settings: defaultSettings }),
  clock: systemClock,
  log,
  invocations: createInvocations(),
});
const timeLimitMs = 300_000;

const api = {
  invoke: (event: unknown) => handler(event, lambdaContext({ functionName: 'scanShard', timeLimitMs })),
};

export type WorkerApi = typeof api;

await listing.warmUp();
serve(api);
