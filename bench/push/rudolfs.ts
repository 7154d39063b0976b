import { join } from 'node:path';
import { plainEnvironment } from '../../test/support/process.ts';
import { installOnce } from './install.ts';
import { nothingLater, type ServerKind } from './server.ts';
import { startProcess } from './started-process.ts';
import { bucket, credentials, region } from './world.ts';

const version = '0.3.8';

/**
 * Without its cache and its encryption, which are options. All bytes pass through it. It can sign uploads only with a
 * CDN in front of the store.
 *
 * @throws {Error} if it can't be installed.
 */
export async function rudolfs(): Promise<ServerKind> {
  const folder = await installOnce(`rudolfs-${version}`, (build) => [
    { command: 'cargo', args: ['install', 'rudolfs', '--version', version, '--locked', '--root', build] },
  ]);
  return {
    name: `rudolfs ${version}`,
    lfsPath: (repo) => `/api/bench/${repo}`,
    isPeer: true,
    knowsStored: true,
    settles: false,
    needsHttps: true,
    start: async ({ storeUrl, certificateFile, folder: own }) => {
      const started = await startProcess({
        command: join(folder, 'bin', 'rudolfs'),
        args: (port) => ['--host', `127.0.0.1:${port}`, 's3', '--bucket', bucket],
        env: {
          ...plainEnvironment(),
          RUDOLFS_LOG: 'warn',
          AWS_S3_ENDPOINT: storeUrl,
          SSL_CERT_FILE: certificateFile,
          AWS_ACCESS_KEY_ID: credentials.accessKeyId,
          AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
          AWS_DEFAULT_REGION: region,
          NO_PROXY: '127.0.0.1',
        },
        cwd: own,
        logFile: join(own, 'rudolfs.log'),
      });
      return { ...started, token: undefined, ...nothingLater };
    },
  };
}
