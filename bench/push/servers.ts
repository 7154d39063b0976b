import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainEnvironment, run } from '../../test/support/process.ts';
import { Child } from '../processes.ts';
import { bucket, cacheFolder, credentials, region, type StartedProcess, startProcess } from '../store.ts';
import type { OurServer } from './our-server.ts';
import type { PresignServer } from './presign-server.ts';

/** What a server gets for one round: an empty folder of its own, and a way to an empty store. */
interface ServerPlace {
  /** URL of the store, through its door. */
  readonly storeUrl: string;
  /** The certificate to trust, if the URL is HTTPS. */
  readonly certificateFile: string;
  readonly folder: string;
}

/** An LFS server that runs in its own process. */
export interface RunningServer extends StartedProcess {
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
    const child: OurServer = await Child.fork(new URL('our-server.ts', import.meta.url));
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
    const child: PresignServer = await Child.fork(new URL('presign-server.ts', import.meta.url));
    const port = await child.call('start', { storeUrl });
    return { pid: child.pid, port, stop: () => child.end() };
  },
};

/** Servers of others, each with its installation. */
export const peers: Readonly<Record<string, () => Promise<ServerKind>>> = { giftless, rudolfs };

/** The environment of a server that reaches the store by an SDK. */
const storeEnvironment = () => ({
  ...plainEnvironment(),
  AWS_ACCESS_KEY_ID: credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  AWS_DEFAULT_REGION: region,
  AWS_EC2_METADATA_DISABLED: 'true',
  NO_PROXY: '127.0.0.1',
});

/** The package names no dependencies. These are the versions of its own requirements, as far as S3 needs them. */
const giftlessPackages = [
  'giftless==0.6.2',
  ...['boto3==1.34.59', 'cachetools==5.3.3', 'cryptography==43.0.1', 'figcan==0.0.4', 'flask==2.3.3'],
  ...['flask-classful==0.16.0', 'flask-marshmallow==0.15.0', 'gunicorn==23.0.0'],
  ...['importlib-metadata==7.0.2', 'marshmallow==3.21.1', 'pyjwt==2.8.0', 'python-dateutil==2.9.0.post0'],
  ...['python-dotenv==1.0.1', 'pyyaml==6.0.1', 'requests==2.31.0', 'typing-extensions==4.10.0'],
  ...['webargs==8.4.0', 'werkzeug==3.0.3'],
];

/** Signed URLs, with a HEAD for each object. @throws {Error} if it can't be installed. */
async function giftless(): Promise<ServerKind> {
  const name = 'giftless 0.6.2';
  const installed = await installOnce(name, (build) => [
    ['python3', '-m', 'venv', build],
    [join(build, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', ...giftlessPackages],
  ]);
  // As much at a time as its own container image, which has two threads in each of two processes. With threads, the
  // first requests race to set up permissions, and some are refused.
  const workers = ['--worker-class', 'gthread', '--workers', '4', '--threads', '1', '--keep-alive', '75'];
  return {
    name,
    lfsPath: (repo) => `/bench/${repo}.git/info/lfs`,
    isPeer: true,
    start: ({ storeUrl, folder }) => {
      const [config, aws] = [join(folder, 'giftless.yaml'), join(folder, 'aws.ini')];
      // JSON is YAML.
      writeFileSync(config, JSON.stringify(giftlessConfig(storeUrl)));
      // Without this, boto3 signs URLs by an old version of the algorithm.
      writeFileSync(aws, '[default]\ns3 =\n  signature_version = s3v4\n');
      const app = 'giftless.wsgi_entrypoint:app';
      return startProcess({
        command: join(installed, 'bin', 'python'),
        args: (port) => ['-m', 'gunicorn', ...workers, '--bind', `127.0.0.1:${port}`, app],
        env: { ...storeEnvironment(), GIFTLESS_CONFIG_FILE: config, AWS_CONFIG_FILE: aws },
        cwd: folder,
      });
    },
  };
}

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
 *
 * @throws {Error} if it can't be installed.
 */
async function rudolfs(): Promise<ServerKind> {
  const name = 'rudolfs 0.3.8';
  const installed = await installOnce(name, (build) => [
    ['cargo', 'install', 'rudolfs', '--version', '0.3.8', '--locked', '--root', build],
  ]);
  return {
    name,
    lfsPath: (repo) => `/api/bench/${repo}`,
    isPeer: true,
    needsHttps: true,
    start: ({ storeUrl, certificateFile, folder }) =>
      startProcess({
        command: join(installed, 'bin', 'rudolfs'),
        args: (port) => ['--host', `127.0.0.1:${port}`, 's3', '--bucket', bucket],
        env: {
          ...storeEnvironment(),
          RUDOLFS_LOG: 'warn',
          AWS_S3_ENDPOINT: storeUrl,
          SSL_CERT_FILE: certificateFile,
        },
        cwd: folder,
      }),
  };
}

/** Compiling a peer on a busy machine. */
const installMsMax = 40 * 60_000;

/**
 * Installs something into the cache, once a machine. An interrupted install leaves nothing that looks complete.
 *
 * @param steps commands for the folder that they install into, which is moved afterwards.
 * @returns the folder.
 * @throws {Error} with the output of a failing step.
 */
async function installOnce(name: string, steps: (build: string) => string[][]): Promise<string> {
  const folder = join(cacheFolder(), name.replace(' ', '-'));
  if (existsSync(folder)) return folder;
  const build = mkdtempSync(join(cacheFolder(), 'build.'));
  // Package managers need the proxies, certificates and registries that are set up on this machine.
  const env = Object.fromEntries(Object.entries(process.env).map(([key, value = '']) => [key, value]));
  try {
    for (const [command = '', ...args] of steps(build)) {
      const { code, err } = await run(command, args, { cwd: build, env, timeoutMs: installMsMax });
      if (code !== 0) throw new Error(`${command} ${args[0]} failed: ${err.trim().slice(-300)}`);
    }
    renameSync(build, folder);
    return folder;
  } finally {
    rmSync(build, { recursive: true, force: true });
  }
}
