import type { StackStore } from './compose.ts';
import { readPublicUrl, readTrustedProxies } from './reach.ts';
import { type EmbeddedStack, startEmbeddedStack } from './start.ts';
import { StartupError } from './system/durable-file.ts';
import { createTerminalLog } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What `lfs-quota serve` is given, as text. */
interface ServeSettings {
  /** `address:port` */
  readonly listen: string;
  readonly data: string;
  readonly publicUrl: string;
  readonly store?: string;
  readonly bucket?: string;
  readonly region: string;
  readonly trustProxy?: string;
}

/**
 * Starts the server of one machine: the deployed functions, with the table in a folder, and the objects in a store.
 *
 * @throws {StartupError} that says what to do.
 */
export async function startServer(
  settings: ServeSettings,
  { env, write }: { env: Environment; write: (text: string) => void },
): Promise<EmbeddedStack> {
  const { trustProxy } = settings;
  const publicUrl = readPublicUrl(settings.publicUrl);
  const store = readStore(settings, env);
  return startEmbeddedStack({
    ...readAddress(settings.listen),
    dataDir: settings.data,
    adminToken: env['LFS_QUOTA_ADMIN_TOKEN'],
    reach: { publicUrl, ...(trustProxy && { trusts: readTrustedProxies(trustProxy) }) },
    ...(store && { store }),
    createDemo: false,
    log: createTerminalLog({ format: 'json', write, now: () => new Date() }),
  });
}

/** @returns undefined for the one in the data folder. */
function readStore({ store, bucket, region }: ServeSettings, env: Environment): StackStore | undefined {
  if (!store && !bucket) return undefined;
  if (!store || !bucket) throw new StartupError('--store and --bucket go together: set both, or neither.');
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey)
    throw new StartupError(
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to the credentials of the store.',
    );
  return {
    kind: 'external',
    endpoint: readStoreUrl(store),
    bucket,
    region,
    forcePathStyle: true,
    credentials: async () => ({ accessKeyId, secretAccessKey }),
  };
}

/** @param text such as `127.0.0.1:8787` or `[::]:8787`. @throws {StartupError} */
function readAddress(text: string): { host: string; port: number } {
  const [, host, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text)?.filter(Boolean) ?? [];
  const port = Number(digits);
  if (host === undefined || !(port <= 65_535))
    throw new StartupError(`--listen takes an address and a port such as 127.0.0.1:8787, not '${text}'.`);
  return { host, port };
}

function readStoreUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || `${url.origin}/` !== url.href)
    throw new StartupError(
      `--store takes the store's endpoint, such as https://s3.eu-central-1.amazonaws.com, not '${text}'.`,
    );
  return url.origin;
}
