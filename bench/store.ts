import { mkdirSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { plainEnvironment } from '../test/support/process.ts';
import { type StartedProcess, startProcess } from './processes.ts';

/** The one bucket of a run, and its credentials. */
export const bucket = 'bench';
export const region = 'us-east-1';
export const credentials = { accessKeyId: 'bench-access', secretAccessKey: 'bench-secret-0123456789' };

/** The bucket as the clients of the product take it. */
export const bucketAt = (endpoint: string) => ({
  bucket,
  region,
  endpoint,
  forcePathStyle: true,
  credentials: async () => credentials,
});

/** Where engines and other servers are kept, so that each machine fetches them once; the same folder as in .ci/lib.sh. */
export function cacheFolder(): string {
  const { LFS_QUOTA_CACHE: own, XDG_CACHE_HOME: caches } = process.env;
  const folder = own || join(caches || join(homedir(), '.cache'), 'lfs-quota');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The name of the newest versitygw in the cache. @throws {Error} if there is none. */
export function storeName(): string {
  const name = readdirSync(cacheFolder())
    .filter((each) => /^versitygw-[\d.]+$/.test(each))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1);
  if (name === undefined) throw new Error('Install versitygw first: .ci/engines.sh install');
  return name;
}

/** versitygw with an empty bucket. @param folder an empty one, for the objects. */
export async function startStore(folder: string): Promise<StartedProcess> {
  const [objects, sidecar] = [join(folder, 'objects'), join(folder, 'sidecar')];
  for (const path of [objects, sidecar]) mkdirSync(path);
  const started = await startProcess({
    command: join(cacheFolder(), storeName()),
    // Metadata in a separate folder: not every file system has extended attributes.
    args: (port) => ['--quiet', '--port', `127.0.0.1:${port}`, 'posix', '--sidecar', sidecar, objects],
    env: {
      ...plainEnvironment(),
      ROOT_ACCESS_KEY: credentials.accessKeyId,
      ROOT_SECRET_KEY: credentials.secretAccessKey,
    },
    folder,
  });
  const client = new S3Client(bucketAt(`http://127.0.0.1:${started.port}`));
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return started;
}
