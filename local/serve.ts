import { setTimeout as sleep } from 'node:timers/promises';
import { publicIssuers } from '../lambda/accounts/rules/identities.ts';
import { exportStoreKindOf } from '../lambda/exports/rules/settings.ts';
import type { StackStore } from './compose.ts';
import { RequestLimits } from './limits.ts';
import { ServerMetrics } from './metrics.ts';
import { openProbes } from './probes.ts';
import { readPublicUrl, readTrustedProxies } from './reach.ts';
import { createSmtpMailer } from './smtp.ts';
import { startEmbeddedStack } from './start.ts';
import { StartupError } from './system/durable-file.ts';
import { createTerminalLog, readAdoptedRepos, readFlags } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What `lfs-quota serve` is given, as text. */
export interface ServeSettings {
  /** `address:port` */
  readonly listen: string;
  /** Where `/live`, `/ready` and `/metrics` are served. Absent: nowhere. */
  readonly listenMetrics?: string;
  readonly data: string;
  readonly publicUrl: string;
  readonly store?: string;
  readonly bucket?: string;
  readonly region: string;
  readonly trustProxy?: string;
  /** Requests a second, by an address or with a credential. 0: no limit. */
  readonly rate: string;
  readonly gitHost?: readonly string[];
  readonly issuer?: readonly string[];
  readonly adopt?: string;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  readonly adminTokenFile: string | undefined;
  /** Where the probes are, if anywhere. */
  readonly metricsPort: number | undefined;
  /** Takes no more work, waits for what runs, and ends. */
  close(): Promise<void>;
}

/** A batch may take 25 s. */
const graceMs = 30_000;
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
  parts: { env: Environment; write: (text: string) => void; copiesParts?: boolean | null },
): Promise<RunningServer> {
  const { env, write, copiesParts = null } = parts;
  const { trustProxy } = settings;
  if (settings.data.trim() === '') throw new StartupError('--data takes a folder, not an empty name.');
  const publicUrl = readPublicUrl(settings.publicUrl);
  const store = readStore(settings, { env, copiesParts });
  const metricsAt = settings.listenMetrics && readAddress('--listen-metrics', settings.listenMetrics);
  const rate = readRate(settings.rate);
  const smtp = env['LFS_QUOTA_SMTP'];
  const metrics = new ServerMetrics();
  const stack = await startEmbeddedStack({
    ...readAddress('--listen', settings.listen),
    ...readOutsiders(settings),
    dataDir: settings.data,
    adminToken: env['LFS_QUOTA_ADMIN_TOKEN'],
    reach: { publicUrl, ...(trustProxy && { trusts: readTrustedProxies(trustProxy) }) },
    ...(store && { store }),
    ...(smtp && { mailer: createSmtpMailer({ url: smtp, from: env['LFS_QUOTA_EMAIL_FROM'] }) }),
    ...(rate > 0 && { limits: new RequestLimits(rate, Date.now) }),
    metrics,
    graceMs,
    createDemo: false,
    log: createTerminalLog({ format: 'json', write, now: () => new Date() }),
  });
  let isDraining = false;
  const isReady = () => !isDraining && stack.isWritable();
  const probes = metricsAt
    ? await openProbes({ ...metricsAt, metrics, isReady }).catch(closing(stack))
    : undefined;
  return {
    url: stack.url,
    port: stack.port,
    adminTokenFile: stack.adminTokenOrigin === 'given' ? undefined : `${stack.dataPath}/admin-token`,
    metricsPort: probes?.port,
    async close() {
      isDraining = true;
      stack.drain();
      if (probes) await sleep(drainMs);
      await stack.close();
      await probes?.close();
    },
  };
}

const closing =
  (stack: { close(): Promise<void> }) =>
  async (error: unknown): Promise<never> => {
    await stack.close();
    throw error;
  };

/** Whom this server trusts, besides its tenants, as `npm start` reads it. @throws {StartupError} */
function readOutsiders({ gitHost = [], issuer = [], adopt }: ServeSettings) {
  const flags = readFlags([
    ...gitHost.flatMap((text) => ['--git-host', text]),
    ...issuer.flatMap((text) => ['--issuer', text]),
  ]);
  if (flags.kind !== 'start') throw new StartupError(flags.kind === 'wrong' ? flags.message : '');
  return {
    gitHosts: flags.gitHosts,
    issuers: issuer.length > 0 ? flags.issuers : publicIssuers,
    adoptedRepos: adopt === undefined ? [] : readAdoptedRepos(adopt),
  };
}

/** @returns undefined for the one in the data folder. */
function readStore(
  { store, bucket, region }: ServeSettings,
  { env, copiesParts }: { env: Environment; copiesParts: boolean | null },
): StackStore | undefined {
  if (!store && !bucket) return undefined;
  if (!store || !bucket) throw new StartupError('--store and --bucket go together: set both, or neither.');
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey)
    throw new StartupError(
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to the credentials of the store.',
    );
  const endpoint = readStoreUrl(store);
  return {
    kind: 'external',
    exportsAs: exportStoreKindOf(endpoint, copiesParts),
    endpoint,
    bucket,
    region: region || 'us-east-1',
    forcePathStyle: true,
    credentials: async () => ({ accessKeyId, secretAccessKey }),
  };
}

/** @param text such as `127.0.0.1:8787` or `[::]:8787`. @throws {StartupError} */
function readAddress(option: string, text: string): { host: string; port: number } {
  const [, host, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text)?.filter(Boolean) ?? [];
  const port = Number(digits);
  if (host === undefined || !(port <= 65_535))
    throw new StartupError(`${option} takes an address and a port such as 127.0.0.1:8787, not '${text}'.`);
  return { host, port };
}

function readRate(text: string): number {
  if (!/^\d{1,6}$/.test(text))
    throw new StartupError(`--rate takes a number of requests a second, 0 for no limit, not '${text}'.`);
  return Number(text);
}

function readStoreUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || `${url.origin}/` !== url.href)
    throw new StartupError(
      `--store takes the store's endpoint, such as https://s3.eu-central-1.amazonaws.com, not '${text}'.`,
    );
  return url.origin;
}
