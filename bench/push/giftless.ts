import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainEnvironment } from '../../test/support/process.ts';
import { installOnce } from './install.ts';
import { nothingLater, type ServerKind } from './server.ts';
import { startProcess } from './started-process.ts';
import { bucket, credentials, region } from './world.ts';

const version = '0.6.2';

/** The package names no dependencies. These are the versions of its own requirements, as far as S3 needs them. */
const packages = [
  `giftless==${version}`,
  'boto3==1.34.59',
  'cachetools==5.3.3',
  'cryptography==43.0.1',
  'figcan==0.0.4',
  'flask==2.3.3',
  'flask-classful==0.16.0',
  'flask-marshmallow==0.15.0',
  'gunicorn==23.0.0',
  'importlib-metadata==7.0.2',
  'marshmallow==3.21.1',
  'pyjwt==2.8.0',
  'python-dateutil==2.9.0.post0',
  'python-dotenv==1.0.1',
  'pyyaml==6.0.1',
  'requests==2.31.0',
  'typing-extensions==4.10.0',
  'webargs==8.4.0',
  'werkzeug==3.0.3',
];

/** @throws {Error} if it can't be installed. */
export async function giftless(): Promise<ServerKind> {
  const folder = await installOnce(`giftless-${version}`, (build) => [
    { command: 'python3', args: ['-m', 'venv', build] },
    { command: join(build, 'bin', 'python'), args: ['-m', 'pip', 'install', '--quiet', ...packages] },
  ]);
  return {
    name: `giftless ${version}`,
    lfsPath: (repo) => `/bench/${repo}.git/info/lfs`,
    isPeer: true,
    knowsStored: true,
    settles: false,
    start: async (place) => {
      const started = await startProcess({
        command: join(folder, 'bin', 'python'),
        // As much at a time as in its own container image, which has two threads in each of two processes. With threads,
        // the first requests race to set up who may do what, and some are refused.
        args: (port) => [
          ...['-m', 'gunicorn', '--worker-class', 'gthread', '--workers', '4', '--threads', '1'],
          ...['--keep-alive', '75'],
          ...['--bind', `127.0.0.1:${port}`, 'giftless.wsgi_entrypoint:app'],
        ],
        env: environment(place),
        cwd: place.folder,
        logFile: join(place.folder, 'giftless.log'),
      });
      return { ...started, token: undefined, ...nothingLater };
    },
  };
}

function environment({ storeUrl, folder }: { storeUrl: string; folder: string }): Record<string, string> {
  const config = {
    AUTH_PROVIDERS: ['giftless.auth.allow_anon:read_write'],
    LEGACY_ENDPOINTS: false,
    TRANSFER_ADAPTERS: {
      basic: {
        factory: 'giftless.transfer.basic_external:factory',
        options: {
          storage_class: 'giftless.storage.amazon_s3:AmazonS3Storage',
          storage_options: { bucket_name: bucket, endpoint: storeUrl },
        },
      },
    },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'giftless.yaml'), JSON.stringify(config));
  // Without this, boto3 signs URLs by a version of the algorithm that S3 gave up.
  writeFileSync(join(folder, 'aws.ini'), '[default]\ns3 =\n  signature_version = s3v4\n');
  return {
    ...plainEnvironment(),
    GIFTLESS_CONFIG_FILE: join(folder, 'giftless.yaml'),
    AWS_CONFIG_FILE: join(folder, 'aws.ini'),
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_DEFAULT_REGION: region,
    AWS_EC2_METADATA_DISABLED: 'true',
    NO_PROXY: '127.0.0.1',
  };
}
