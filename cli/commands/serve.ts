import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { parseJson } from '../../lambda/core/rules/text.ts';
import type { ServeSettings } from '../../local/serve.ts';
import type { CliContext } from '../context.ts';
import { type StoreProfile, storeProfileSchema } from '../doctor/profile.ts';
import { CliError } from '../errors.ts';
import { collect } from '../options.ts';
import { testStore, writeProfile } from './doctor.ts';

const secondSignalMs = 1_000;

const fromEnv = (flags: string, variable: string, description: string) =>
  new Option(flags, description).env(variable);

/** What `npm start` differs in: for one person on one machine. */
const demoSettings = {
  data: '.lfs-quota',
  rate: '0',
  minRate: '0',
  log: 'text',
} satisfies Partial<ServeSettings>;

/** `serve`: lfs-quota on one's own machine, behind a TLS proxy. `npm start` calls it with `--demo`. */
export function registerServe(program: Command, context: CliContext): void {
  const command = program
    .command('serve')
    .summary('Run lfs-quota on your own machine')
    .description('Run lfs-quota on your own machine, behind a TLS proxy');
  const options = [
    fromEnv(
      '--port, --listen <address:port>',
      'LFS_QUOTA_LISTEN',
      'where it listens; a port: on 127.0.0.1',
    ).default('127.0.0.1:8787'),
    fromEnv('--data <dir>', 'LFS_QUOTA_DATA', 'data folder').makeOptionMandatory(),
    fromEnv('--public-url <url>', 'LFS_QUOTA_PUBLIC_URL', 'what clients call it; repeatable').argParser(
      (url: string, before?: string) => [before, url].filter(Boolean).join(),
    ),
    fromEnv('--objects-url <url>', 'LFS_QUOTA_OBJECTS_URL', 'another name, for uploads and downloads'),
    fromEnv(
      '--chunks-from <size>',
      'LFS_QUOTA_CHUNKS_FROM',
      'largest upload a proxy passes; above: in chunks',
    ),
    new Option('--demo', 'try it: a tenant demo, for this machine only, without TLS').implies(demoSettings),
    fromEnv('--store <url>', 'LFS_QUOTA_STORE', 'S3-compatible store (default: in the data folder)'),
    fromEnv('--bucket <name>', 'LFS_QUOTA_BUCKET', 'bucket in that store'),
    fromEnv('--region <name>', 'AWS_REGION', 'region of the bucket').default('us-east-1'),
    fromEnv(
      '--storage-classes <list>',
      'LFS_QUOTA_STORAGE_CLASSES',
      'that it has, with commas, such as STANDARD_IA',
    ),
    fromEnv(
      '--table-url <url>',
      'LFS_QUOTA_TABLE_URL',
      'DynamoDB API of a shared table (default: in the data folder)',
    ),
    fromEnv('--table-name <name>', 'LFS_QUOTA_TABLE_NAME', 'name of that table').default('lfs-quota'),
    fromEnv('--trust-proxy <list>', 'LFS_QUOTA_TRUST_PROXY', 'proxies: addresses and networks, with commas'),
    fromEnv('--listen-metrics <address:port>', 'LFS_QUOTA_LISTEN_METRICS', 'for /live, /ready, /metrics'),
    fromEnv('--rate <requests>', 'LFS_QUOTA_RATE', 'a second, by an address or a token; 0: any').default(
      '100',
    ),
    fromEnv('--min-rate <bytes>', 'LFS_QUOTA_MIN_RATE', 'a second, of each transfer; 0: any').default('512'),
    fromEnv('--log <format>', 'LFS_QUOTA_LOG', 'of the log on stderr')
      .choices(['json', 'text'])
      .default('json'),
    new Option('--git-host <id,kind,url…>', 'git host for user logins; repeatable').argParser(collect),
    new Option('--issuer <kind,issuer,jwks>', 'issuer of CI identity tokens; repeatable').argParser(collect),
    new Option('--adopt <file>', "repos in another LFS server's layout"),
    new Option('--cors-origins <list>', 'origins of web pages that can call the API, with commas'),
    new Option('--gc-watch <minutes>', 'shortest time from the first "gc" to a delete (default: 1440)'),
    new Option('--usage-files', 'also write each hour of usage to _usage/ in the store'),
    new Option('--loopback-webhooks', 'allow webhooks to this machine, by plain HTTP'),
  ];
  for (const option of options) command.addOption(option);
  command.action(async (given: ServeSettings) => serve(given, context));
}

async function serve(options: ServeSettings, context: CliContext): Promise<void> {
  // Imported only here: it loads the server and the SDK.
  const [{ startServer }, { StartupError }] = await Promise.all([
    import('../../local/serve.ts'),
    import('../../local/system/durable-file.ts'),
  ]);
  let release: (() => void) | undefined;
  const stopped = new Promise<void>((resolve) => {
    release = context.onInterrupt?.(() => {
      // One Ctrl-C may come twice, from the terminal and from npm.
      const releaseSecond = context.onInterrupt?.(() => {});
      setTimeout(() => releaseSecond?.(), secondSignalMs).unref();
      resolve();
    });
  });
  const say = (line: string) => context.out(`${line}\n`);
  try {
    const store = await testedStore(options, context);
    const copiesParts = store?.profile.holds.partRules.uploadPartCopy ?? null;
    const server = await startServer(options, { env: context.env, write: context.err, say, copiesParts });
    if (store)
      await writeProfile(store.file, store.profile).catch(async (error) => {
        await server.close();
        throw error;
      });
    for (const line of server.welcome({ showsTokens: context.isTerminal })) say(line);
    await stopped;
    say('stopping …');
    await server.close();
    say('stopped');
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
 * @throws {CliError} if the store can't be used, or the objects are in another one: all would seem lost.
 */
async function testedStore(
  { store = '', bucket = '', region, data }: ServeSettings,
  context: CliContext,
): Promise<{ profile: StoreProfile; file: string } | undefined> {
  const endpoint = /^https?:/.test(store) && URL.canParse(store) ? new URL(store).origin : '';
  if (!data.trim() || !store !== !bucket || !store !== !endpoint) return undefined;
  const [file, own] = [path.join(data, 'store-profile.json'), path.join(data, 'store', 'objects')];
  const text = await readFile(file, 'utf8').catch(() => '');
  const known = storeProfileSchema.safeParse(parseJson(text)).data;
  const names = known || !store ? [] : await readdir(own, { recursive: true }).catch(() => []);
  const placeOf = (url: string | null, name: string) => `bucket ${name} at ${url}`;
  const given = store ? placeOf(endpoint, bucket) : 'its own store';
  // Folders with names of two letters stay when their objects are deleted.
  const hasOwn = names.some((name) => name.length > 2);
  const kept = known ? placeOf(known.endpoint, known.bucket) : hasOwn ? 'its own store' : given;
  if (kept !== given)
    throw new CliError(`The objects of ${data} are in ${kept}, not in ${given}.`, {
      hint: `Start it with that store. If you moved the objects, or its URL changed, first rename ${known ? file : own}.`,
    });
  if (!store) return undefined;
  if (known?.usable) return { profile: known, file };
  const target = {
    bucket,
    prefix: `lfs-quota-doctor-${randomBytes(8).toString('hex')}/`,
    endpoint,
    endpointOption: '--store',
    region: region || 'us-east-1',
    isThorough: false,
    largestBytes: undefined,
  };
  return { profile: await testStore(target, {}, context), file };
}
