import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { plainEnvironment } from '../../test/support/process.ts';
import { Child } from '../child/child.ts';
import { cacheFolder, installedVersitygw } from './cache.ts';
import type { OwnStoreProcess } from './own-store.ts';
import { startProcess } from './started-process.ts';
import { bucket, credentials, region } from './world.ts';

/** An object store in its own process, with an empty bucket. */
export interface RunningStore {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

export interface StoreKindOfRun {
  readonly name: string;
  /** The embedded store: it does what this project needs of a store, and answers 501 to the rest. */
  readonly isEmbedded: boolean;
  /** @param folder an empty one, for the objects. */
  start(folder: string): Promise<RunningStore>;
}

/** The store that all servers of a run get: versitygw if it is in the cache, else the embedded one. */
export function chooseStore(): StoreKindOfRun {
  const found = installedVersitygw(cacheFolder());
  if (found === undefined) {
    return { name: 'the embedded store (no versitygw in the cache)', isEmbedded: true, start: startOwn };
  }
  const { file, version } = found;
  return {
    name: `versitygw ${version}`,
    isEmbedded: false,
    start: (folder) => startVersitygw(file, folder),
  };
}

async function startOwn(folder: string): Promise<RunningStore> {
  const child: OwnStoreProcess = await Child.fork(new URL('own-store.ts', import.meta.url));
  const port = await child.call('start', { folder, bucket, credentials });
  return { pid: child.pid, port, stop: () => child.end() };
}

async function startVersitygw(command: string, folder: string): Promise<RunningStore> {
  const [objects, sidecar] = [join(folder, 'objects'), join(folder, 'sidecar')];
  for (const path of [objects, sidecar]) mkdirSync(path);
  const started = await startProcess({
    command,
    // Metadata in a separate folder: not every file system has extended attributes.
    args: (port) => ['--quiet', '--port', `127.0.0.1:${port}`, 'posix', '--sidecar', sidecar, objects],
    env: {
      ...plainEnvironment(),
      ROOT_ACCESS_KEY: credentials.accessKeyId,
      ROOT_SECRET_KEY: credentials.secretAccessKey,
    },
    cwd: folder,
    logFile: join(folder, 'versitygw.log'),
  });
  const endpoint = `http://127.0.0.1:${started.port}`;
  const client = new S3Client({ region, endpoint, credentials, forcePathStyle: true });
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } catch (error) {
    await started.stop();
    throw error;
  } finally {
    client.destroy();
  }
  return started;
}
