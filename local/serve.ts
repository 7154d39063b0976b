import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../lambda/core/rules/clock-and-log.ts';
import { defaultSettings, type Settings } from '../lambda/core/rules/settings.ts';
import { parseSize } from '../lambda/core/rules/sizes.ts';
import { type AdoptedRepo, adoptedReposFromJson } from '../lambda/core/store/rules/adopted-repos.ts';
import {
  type StorageClass,
  storageClasses,
  storageClassesIn,
} from '../lambda/core/store/rules/storage-class.ts';
import { storeKindOf } from '../lambda/core/store/rules/store-kind.ts';
import type { StackStore } from './compose.ts';
import type { TableSettings } from './data/shared-table.ts';
import { welcomeLines } from './demo.ts';
import { RequestLimits } from './limits.ts';
import { ServerMetrics } from './metrics.ts';
import { readOptions } from './options.ts';
import { openProbes } from './probes.ts';
import { readCorsOrigins, readObjectsUrl, readPublicUrls, readTrustedProxies } from './reach.ts';
import { createSmtpMailer } from './smtp.ts';
import { startEmbeddedStack } from './start.ts';
import { StartupError } from './system/durable-file.ts';
import { createTerminalLog } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What `lfs-quota serve` is given, as text. */
export interface ServeSettings {
  /** `address:port`, or a port of this machine's loopback. */
  readonly listen: string;
  /** Where `/live`, `/ready` and `/metrics` are served. Absent: nowhere. */
  readonly listenMetrics?: string;
  readonly data: string;
  /** With commas. Links have the requested one, or else the first. */
  readonly publicUrl?: string;
  /** What URLs of objects begin with. Absent: the public URL. */
  readonly objectsUrl?: string;
  /** The largest body that gets through a proxy, such as `90MB`. Absent: any. */
  readonly chunksFrom?: string;
  /** A tenant to begin with, without a public URL. */
  readonly demo?: boolean;
  readonly store?: string;
  readonly bucket?: string;
  readonly region: string;
  /** That the store has. */
  readonly storageClasses?: string;
  /** The endpoint of a table that several servers use. Absent: it's in the data folder. */
  readonly tableUrl?: string;
  readonly tableName: string;
  readonly trustProxy?: string;
  /** Origins whose pages may call the API, with commas. */
  readonly corsOrigins?: string;
  /** Requests a second, by an address or with a credential. 0: no limit. */
  readonly rate: string;
  /** Bytes a second that a transfer needs. 0: any. */
  readonly minRate: string;
  readonly log: 'json' | 'text';
  readonly gitHost?: readonly string[];
  readonly issuer?: readonly string[];
  readonly adopt?: string;
  readonly gcWatch?: string;
  readonly loopbackWebhooks?: boolean;
  readonly usageFiles?: boolean;
}

interface RunningServer {
  /** Lines for whoever starts it, the last of which says that it is ready. */
  welcome(options: { showsTokens: boolean }): readonly string[];
  /** Takes no more work, waits for what runs, and ends. */
  close(): Promise<void>;
}

/** With `drainMs`, less than the proxies of packaging/ wait for a restart. An upload that needs longer is begun again by its client. */
const graceMs = 12_000;
/** How long it still takes requests after it has said that it is not ready: until whoever leads them here has looked. */
const drainMs = 3_000;

/**
 * Starts the server of one machine: the deployed functions, with the table in a folder, and the objects there or in a store.
 *
 * @param parts.copiesParts whether the store copies parts, as a test of it found; null: unknown.
 * @throws {StartupError} that says what to do.
 */
export async function startServer(
  settings: ServeSettings,
  parts: {
    env: Environment;
    write: (text: string) => void;
    say?: (line: string) => void;
    copiesParts?: boolean | null;
  },
): Promise<RunningServer> {
  const { env, write, say = () => {}, copiesParts = null } = parts;
  const { trustProxy, corsOrigins, demo = false } = settings;
  if (settings.data.trim() === '') throw new StartupError('--data takes a folder, not an empty name.');
  const publicUrls = demo && !settings.publicUrl ? undefined : readPublicUrls(settings.publicUrl ?? '');
  const chunkSettings = readChunksFrom(settings.chunksFrom);
  const reach = {
    publicUrls,
    uploadBytesMax: chunkSettings.objectBytesMax,
    ...(settings.objectsUrl && { objectsUrl: readObjectsUrl(settings.objectsUrl) }),
    ...(trustProxy && { trusts: readTrustedProxies(trustProxy) }),
    ...(corsOrigins && { pagesOf: readCorsOrigins(corsOrigins) }),
  };
  const store = readStore(settings, { env, copiesParts });
  const table = readTable(settings, env);
  const metricsAt = settings.listenMetrics && readAddress('--listen-metrics', settings.listenMetrics);
  const limits = readLimits(settings);
  const outsiders = readOutsiders(settings);
  const gcSettings = readGcWatch(settings.gcWatch);
  const smtp = env['LFS_QUOTA_SMTP'];
  const metrics = new ServerMetrics();
  const log = createTerminalLog({ format: settings.log, write, now: () => new Date() });
  becomeService(log);
  const stack = await startEmbeddedStack({
    ...readAddress('--listen', settings.listen),
    ...outsiders,
    settings: { ...gcSettings, ...chunkSettings },
    dataDir: settings.data,
    adminToken: env['LFS_QUOTA_ADMIN_TOKEN'],
    reach,
    ...(store && { store }),
    ...(table && { table }),
    ...(smtp && { mailer: createSmtpMailer({ url: smtp, from: env['LFS_QUOTA_EMAIL_FROM'] }) }),
    ...limits,
    metrics,
    logsRequests: !demo,
    writesUsage: settings.usageFiles,
    graceMs,
    createDemo: demo,
    onProgress: say,
    log,
  });
  let isDraining = false;
  const isReady = () => !isDraining && stack.isReady();
  const probing = metricsAt ? openProbes({ ...metricsAt, metrics, isReady }) : undefined;
  const probes = await probing?.catch(async (error) => {
    await stack.close();
    throw error;
  });
  return {
    welcome: ({ showsTokens }) => [
      ...welcomeLines(stack, { showsTokens: showsTokens && demo }),
      ...(probes ? [`metrics on port ${probes.port}`] : []),
      ...(publicUrls ? [`listening on port ${stack.port}`] : []),
      `ready ${stack.url}`,
    ],
    async close() {
      isDraining = true;
      stack.drain();
      if (probes) await sleep(drainMs);
      await stack.close();
      await probes?.close();
    },
  };
}

/** Makes this process one that serves. */
function becomeService(log: Log): void {
  // The data folder has the objects and hashes of the tokens. Other users of the machine must not read new files.
  process.umask(0o077);
  // A reader of the output that ends, such as `| head`, must not end the service.
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners('error').on('error', () => {});
  process.on('uncaughtException', (error) => {
    log.error('stopped by an unexpected error; stored data is safe, start it again', { error });
    process.exit(1);
  });
}

/** Whom this server trusts, besides its tenants. @throws {StartupError} */
export function readOutsiders(
  settings: Pick<ServeSettings, 'gitHost' | 'issuer' | 'adopt' | 'loopbackWebhooks'>,
) {
  const { adopt, loopbackWebhooks = false } = settings;
  return {
    ...readOptions(settings),
    adoptedRepos: adopt === undefined ? [] : readAdoptedRepos(adopt),
    allowsLoopbackWebhooks: loopbackWebhooks,
  };
}

/** @throws {StartupError} that says what is wrong with the file. */
function readAdoptedRepos(path: string): readonly AdoptedRepo[] {
  try {
    return adoptedReposFromJson(readFileSync(path, 'utf8'));
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`Can't use --adopt ${path}: ${what}`, { cause });
  }
}

function readGcWatch(text: string | undefined): Partial<Settings> {
  if (text === undefined) return {};
  if (!/^\d{1,5}$/.test(text)) throw new StartupError(`--gc-watch takes a number of minutes, not '${text}'.`);
  return { gcWatchMs: Number(text) * 60_000 };
}

const mib = 1024 ** 2;

/** Larger files go up in chunks that fit, from the transfer agent alone. @throws {StartupError} */
export function readChunksFrom(text: string | undefined): Partial<Settings> {
  if (!text) return {};
  const size = parseSize(text);
  const objectBytesMax = 'bytes' in size ? size.bytes : 0;
  if (objectBytesMax < 5 * mib || objectBytesMax > defaultSettings.objectBytesMax)
    throw new StartupError(`--chunks-from takes a size from 5MiB to 5GiB, such as 90MB, not '${text}'.`);
  const chunkBytes = Math.min(defaultSettings.chunkBytes, objectBytesMax - (objectBytesMax % mib));
  // A file of more than 10,000 would have larger ones.
  return { objectBytesMax, chunkBytes, chunkedBytesMax: 10_000 * chunkBytes };
}

/** @returns undefined for the one in the data folder. */
function readStore(
  { store, bucket, region, storageClasses, objectsUrl }: ServeSettings,
  { env, copiesParts }: { env: Environment; copiesParts: boolean | null },
): StackStore | undefined {
  if (!store && !bucket) return undefined;
  if (!store || !bucket) throw new StartupError('--store and --bucket go together: set both, or neither.');
  if (objectsUrl)
    throw new StartupError(
      '--objects-url is for objects in the data folder. With --store, clients use its URLs.',
    );
  const credentials = readCredentials(env);
  const endpoint = readEndpoint('--store', store, 'https://s3.eu-central-1.amazonaws.com');
  return {
    kind: 'external',
    exportsAs: storeKindOf(endpoint, copiesParts),
    endpoint,
    bucket,
    region: region || 'us-east-1',
    storageClasses: readStorageClasses(storageClasses),
    forcePathStyle: true,
    credentials: async () => credentials,
  };
}

function readStorageClasses(text = ''): readonly StorageClass[] {
  const found = storageClassesIn(text);
  if (found) return found;
  throw new StartupError(`--storage-classes takes names with commas, of ${storageClasses.join(',')}.`);
}

/** @returns undefined for the one in the data folder. */
function readTable(
  { tableUrl, tableName: name, store, region }: ServeSettings,
  env: Environment,
): TableSettings | undefined {
  if (!tableUrl) return undefined;
  if (!store)
    throw new StartupError(
      '--table-url needs --store and --bucket: servers with one table share the objects.',
    );
  if (!env['LFS_QUOTA_ADMIN_TOKEN'])
    throw new StartupError('--table-url needs LFS_QUOTA_ADMIN_TOKEN: set the same one for each server.');
  if (!/^[\w.-]{3,255}$/.test(name))
    throw new StartupError(`--table-name takes 3 to 255 letters, digits, dots, - and _, not '${name}'.`);
  const endpoint = readEndpoint('--table-url', tableUrl, 'https://dynamodb.eu-central-1.amazonaws.com');
  return { endpoint, name, region: region || 'us-east-1', credentials: readCredentials(env) };
}

function readCredentials(env: Environment) {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey)
    throw new StartupError(
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to the credentials of the store.',
    );
  const sessionToken = env['AWS_SESSION_TOKEN'];
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

/** @param text such as `127.0.0.1:8787`, `[::]:8787` or `8787`. @throws {StartupError} */
function readAddress(option: string, text: string): { host: string; port: number } {
  const whole = /^\d+$/.test(text) ? `127.0.0.1:${text}` : text;
  const [, host, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(whole)?.filter(Boolean) ?? [];
  const port = Number(digits);
  if (host === undefined || !(port <= 65_535))
    throw new StartupError(`${option} takes an address and a port such as 127.0.0.1:8787, not '${text}'.`);
  return { host, port };
}

/** Each by itself: 0 ends no other limit. @throws {StartupError} */
export function readLimits({ rate, minRate }: Pick<ServeSettings, 'rate' | 'minRate'>) {
  const perSecond = readNumber('--rate', rate);
  return {
    connections: { leastRate: readNumber('--min-rate', minRate) },
    ...(perSecond > 0 && { limits: new RequestLimits(perSecond) }),
  };
}

function readNumber(option: string, text: string): number {
  if (!/^\d{1,6}$/.test(text))
    throw new StartupError(`${option} takes a number a second, 0 for no limit, not '${text}'.`);
  return Number(text);
}

function readEndpoint(option: string, text: string, example: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || `${url.origin}/` !== url.href)
    throw new StartupError(`${option} takes an endpoint, such as ${example}, not '${text}'.`);
  return url.origin;
}
