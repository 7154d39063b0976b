import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainEnvironment } from '../../test/support/process.ts';
import { type Child, type StartedProcess, startChild, startProcess } from '../processes.ts';
import type { ChildApi } from '../serve.ts';
import { bucket, cacheFolder, credentials, region } from '../store.ts';
import type { OurServer } from './our-server.ts';

/** What a server gets for one round: an empty folder of its own, and a way to an empty store. */
interface ServerPlace {
  /** URL of the store, through its door. */
  readonly storeUrl: string;
  /** The certificate to trust, if the URL is HTTPS. */
  readonly certificateFile: string;
  readonly folder: string;
}

/** An LFS server that runs in its own process. */
interface RunningServer extends StartedProcess {
  /** The token that a client needs; without one, anyone can push. */
  readonly token?: string;
  /** Does the work that follows a push in the background. */
  settle?(): Promise<void>;
}

export interface ServerKind {
  readonly name: string;
  /** The path of a repo's LFS API. `lfs.url` gets it. */
  readonly lfsPath: (repo: string) => string;
  /** A server of others. If it fails, the run goes on without it. */
  readonly isPeer: boolean;
  /** It reaches a store over HTTPS only. */
  readonly needsHttps?: boolean;
  start(place: ServerPlace): Promise<RunningServer>;
}

export const ours: ServerKind = {
  name: 'ours',
  lfsPath: (repo) => `/bench/${repo}/info/lfs`,
  isPeer: false,
  start: async ({ storeUrl, folder }) => {
    const child: OurServer = await startChild(new URL('our-server.ts', import.meta.url));
    const started = await child.call('start', { storeUrl, folder });
    return { pid: child.pid, ...started, settle: () => child.call('settle'), stop: () => child.end() };
  },
};

/** The bound: signed URLs without a token, a quota, a look at the store, or a verify. */
export const presignOnly: ServerKind = {
  name: 'presign-only',
  lfsPath: (repo) => `/${repo}`,
  isPeer: false,
  start: async ({ storeUrl }) => {
    const child: Child<ChildApi, number> = await startChild(new URL('presign-server.ts', import.meta.url), {
      args: [storeUrl],
    });
    return { pid: child.pid, port: child.ready, stop: () => child.end() };
  },
};

/** The environment of a server that reaches the store by an SDK. */
const storeEnvironment = () => ({
  ...plainEnvironment(),
  AWS_ACCESS_KEY_ID: credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  AWS_DEFAULT_REGION: region,
  AWS_EC2_METADATA_DISABLED: 'true',
  NO_PROXY: '127.0.0.1',
});

/** Signed URLs, with a HEAD for each object. */
const giftless: ServerKind = {
  name: 'giftless-0.6.2',
  lfsPath: (repo) => `/bench/${repo}.git/info/lfs`,
  isPeer: true,
  start: ({ storeUrl, folder }) => {
    const [config, aws] = [join(folder, 'giftless.yaml'), join(folder, 'aws.ini')];
    // JSON is YAML.
    writeFileSync(config, JSON.stringify(giftlessConfig(storeUrl)));
    // Without this, boto3 signs URLs by an old version of the algorithm.
    writeFileSync(aws, '[default]\ns3 =\n  signature_version = s3v4\n');
    // As much at a time as its own container image, which has two threads in each of two processes. With threads, the
    // first requests race to set up permissions, and some are refused.
    const workers = ['--worker-class', 'gthread', '--workers', '4', '--threads', '1', '--keep-alive', '75'];
    const app = 'giftless.wsgi_entrypoint:app';
    return startProcess({
      command: join(folderOf(giftless), 'bin', 'python'),
      args: (port) => ['-m', 'gunicorn', ...workers, '--bind', `127.0.0.1:${port}`, app],
      env: { ...storeEnvironment(), GIFTLESS_CONFIG_FILE: config, AWS_CONFIG_FILE: aws },
      folder,
    });
  },
};

function giftlessConfig(storeUrl: string): object {
  const options = {
    storage_class: 'giftless.storage.amazon_s3:AmazonS3Storage',
    storage_options: { bucket_name: bucket, endpoint: storeUrl },
  };
  return {
    AUTH_PROVIDERS: ['giftless.auth.allow_anon:read_write'],
    LEGACY_ENDPOINTS: false,
    TRANSFER_ADAPTERS: { basic: { factory: 'giftless.transfer.basic_external:factory', options } },
  };
}

/**
 * A proxy for all bytes, without its cache and its encryption, which are options. It can sign uploads only with a CDN in
 * front of the store.
 */
const rudolfs: ServerKind = {
  name: 'rudolfs-0.3.8',
  lfsPath: (repo) => `/api/bench/${repo}`,
  isPeer: true,
  needsHttps: true,
  start: ({ storeUrl, certificateFile, folder }) =>
    startProcess({
      command: join(folderOf(rudolfs), 'bin', 'rudolfs'),
      args: (port) => ['--host', `127.0.0.1:${port}`, 's3', '--bucket', bucket],
      env: {
        ...storeEnvironment(),
        RUDOLFS_LOG: 'warn',
        AWS_S3_ENDPOINT: storeUrl,
        SSL_CERT_FILE: certificateFile,
      },
      folder,
    }),
};

const folderOf = ({ name }: ServerKind) => join(cacheFolder(), name);

/** Servers of others that are in the cache: docs/bench.md says how they get there. The other ones are named. */
export function installedPeers(print: (text: string) => void): ServerKind[] {
  return [giftless, rudolfs].filter((peer) => {
    const isThere = existsSync(folderOf(peer));
    if (!isThere) print(`${peer.name} is left out: install it into ${folderOf(peer)}.`);
    return isThere;
  });
}
