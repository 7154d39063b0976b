import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { parseJson } from '../../lambda/rules/text.ts';
import type { ServeSettings } from '../../local/serve.ts';
import type { CliContext } from '../context.ts';
import { type StoreProfile, storeProfileSchema } from '../doctor/profile.ts';
import { CliError } from '../errors.ts';
import { testStore, writeProfile } from './doctor.ts';

const fromEnv = (flags: string, variable: string, description: string) =>
  new Option(flags, description).env(variable);

/** `serve`: lfs-quota on one's own machine, behind a TLS proxy. */
export function registerServe(program: Command, context: CliContext): void {
  program
    .command('serve')
    .summary('Run lfs-quota on your own machine')
    .description('Run lfs-quota on your own machine, behind a TLS proxy')
    .addOption(
      fromEnv('--listen <address:port>', 'LFS_QUOTA_LISTEN', 'where it listens').default('127.0.0.1:8787'),
    )
    .addOption(fromEnv('--data <dir>', 'LFS_QUOTA_DATA', 'data folder').makeOptionMandatory())
    .addOption(
      fromEnv('--public-url <url>', 'LFS_QUOTA_PUBLIC_URL', 'what clients call it').makeOptionMandatory(),
    )
    .addOption(
      fromEnv('--store <url>', 'LFS_QUOTA_STORE', 'S3-compatible store (default: in the data folder)'),
    )
    .addOption(fromEnv('--bucket <name>', 'LFS_QUOTA_BUCKET', 'bucket in that store'))
    .addOption(fromEnv('--region <name>', 'AWS_REGION', 'region of the bucket').default('us-east-1'))
    .addOption(
      fromEnv(
        '--trust-proxy <list>',
        'LFS_QUOTA_TRUST_PROXY',
        'proxies: addresses and networks, with commas',
      ),
    )
    .addOption(
      fromEnv('--listen-metrics <address:port>', 'LFS_QUOTA_LISTEN_METRICS', 'for /live, /ready, /metrics'),
    )
    .addOption(
      fromEnv('--rate <requests>', 'LFS_QUOTA_RATE', 'a second, by an address or a token; 0: any').default(
        '100',
      ),
    )
    .option('--git-host <id,kind,url…>', 'git host for user logins; repeatable', collect)
    .option('--issuer <kind,issuer,jwks>', 'issuer of CI identity tokens; repeatable', collect)
    .option('--adopt <file>', "repos in another LFS server's layout")
    .action(async (options: ServeSettings) => serve(options, context));
}

const collect = (text: string, before: readonly string[] = []) => [...before, text];

async function serve(options: ServeSettings, context: CliContext): Promise<void> {
  // Imported only here: it loads the server and the SDK.
  const [{ startServer }, { StartupError }] = await Promise.all([
    import('../../local/serve.ts'),
    import('../../local/system/durable-file.ts'),
  ]);
  let release: (() => void) | undefined;
  const stopped = new Promise<void>((resolve) => {
    release = context.onInterrupt?.(resolve);
  });
  try {
    const store = await testedStore(options, context);
    const copiesParts = store?.profile.holds.partRules.uploadPartCopy ?? null;
    const server = await startServer(options, { env: context.env, write: context.err, copiesParts });
    if (store)
      await writeProfile(store.file, store.profile).catch(async (error) => {
        await server.close();
        throw error;
      });
    if (server.adminTokenFile) context.out(`admin token in ${server.adminTokenFile}\n`);
    if (server.metricsPort) context.out(`metrics on port ${server.metricsPort}\n`);
    context.out(`listening on port ${server.port}\nready ${server.url}\n`);
    await stopped;
    await server.close();
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    throw new CliError(error.message, { hint: 'See lfs-quota serve --help', cause: error });
  } finally {
    release?.();
  }
}

/**
 * What is known of the store: tested once, at the first start with it. The data folder keeps the result.
 *
 * @returns undefined for the store in the data folder, or if the options are not whole.
 * @throws {CliError} if the store can't be used.
 */
async function testedStore(
  options: ServeSettings,
  context: CliContext,
): Promise<{ profile: StoreProfile; file: string } | undefined> {
  const { store, bucket, region, data } = options;
  if (!data.trim()) return undefined;
  if (!store || !bucket || !/^https?:/.test(store) || !URL.canParse(store)) return undefined;
  const file = path.join(data, 'store-profile.json');
  const known = await readFile(file, 'utf8').then(
    (text) => storeProfileSchema.safeParse(parseJson(text)).data,
    () => undefined,
  );
  const endpoint = new URL(store).origin;
  if (known?.usable && known.endpoint === endpoint && known.bucket === bucket)
    return { profile: known, file };
  const prefix = `lfs-quota-doctor-${randomBytes(8).toString('hex')}/`;
  const target = {
    bucket,
    prefix,
    endpoint,
    region: region || 'us-east-1',
    isThorough: false,
    largestBytes: undefined,
  };
  return { profile: await testStore(target, {}, context), file };
}
