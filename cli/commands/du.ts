import { type Command, InvalidArgumentError, Option } from 'commander';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { ScanStrategy } from '../../lambda/domain/scan/strategy.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import { formatCount, formatObjects } from '../render.ts';
import type { DuCount } from './du-count.ts';
import { ProgressLine } from './du-progress.ts';

const strategies = [
  'probe',
  'sixteen',
  'fixed-sixteen',
  'sequential',
  'hint',
] as const satisfies readonly ScanStrategy['kind'][];

interface DuOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly json?: boolean;
  readonly strategy?: (typeof strategies)[number];
  readonly hint?: number;
  readonly concurrency?: number;
}

/** `du s3://BUCKET/PATH`: counts any path of any S3 bucket. It needs no lfs-quota service. */
export function registerDu(program: Command, context: CliContext): void {
  program
    .command('du')
    .description('count the bytes and objects below a path of any S3 bucket')
    .argument('<url>', 's3://BUCKET, s3://BUCKET/PATH, or s3://BUCKET/PREFIX* for all keys with that prefix')
    .option(
      '--endpoint <url>',
      'address of an S3-compatible store (env: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; default: AWS)',
    )
    .option('--region <name>', 'region to try first (env: AWS_REGION; default: us-east-1)')
    .option('--json', 'print one JSON object')
    .addOption(
      new Option(
        '--strategy <name>',
        'how the scan begins; docs/scan.md compares them (default: probe)',
      ).choices(strategies),
    )
    .option('--hint <objects>', 'about how many objects there are, if you know', parseCount)
    .option('--concurrency <requests>', 'most requests at a time (default: 128)', parseCount)
    .action(async (url: string, options: DuOptions) => du(url, options, context));
}

async function du(url: string, options: DuOptions, context: CliContext): Promise<void> {
  const { env } = context;
  const target = {
    ...parseS3Url(url),
    endpoint: endpointOf(options, context),
    region: options.region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1'),
    strategy: strategyOf(options),
    concurrency: options.concurrency ?? defaultSettings.scanConcurrency,
  };
  // Imported only here: loading the SDK takes longer than most other commands take.
  const { countBelow } = await import('./du-count.ts');
  const line = new ProgressLine(context, {
    isShown: process.stderr.isTTY === true && !options.json,
    columns: () => process.stderr.columns,
  });
  const startedMs = context.nowMs();
  const count = await countBelow(target, (progress) => line.show(progress)).finally(() => line.clear());
  const seconds = (context.nowMs() - startedMs) / 1000;
  if (options.json) {
    const { bucket, prefix } = target;
    context.out(`${JSON.stringify({ bucket, prefix, ...count, seconds })}\n`);
  } else context.out(`${formatResult(count, seconds)}\n`);
}

/** `s3://bucket/a/b` has the prefix `a/b/`; `s3://bucket/a/b*` has the prefix `a/b`. */
export function parseS3Url(url: string): { bucket: string; prefix: string } {
  const [, bucket, path = ''] = /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]{1,62})(?:\/(.*))?$/s.exec(url) ?? [];
  if (bucket === undefined) {
    throw new UsageError(`'${url}' names no bucket. Give s3://BUCKET or s3://BUCKET/PATH.`);
  }
  if (path.endsWith('*')) return { bucket, prefix: path.slice(0, -1) };
  return { bucket, prefix: path === '' || path.endsWith('/') ? path : `${path}/` };
}

function endpointOf(options: DuOptions, { env }: CliContext): string | undefined {
  const endpoint = options.endpoint ?? (env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || undefined);
  if (endpoint !== undefined && !/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : '')) {
    throw new UsageError(
      `'${endpoint}' is not an address. Give one such as https://ACCOUNT.r2.cloudflarestorage.com.`,
    );
  }
  return endpoint;
}

function strategyOf({ strategy, hint }: DuOptions): ScanStrategy {
  if (hint !== undefined && (strategy ?? 'hint') === 'hint') return { kind: 'hint', objects: hint };
  if (hint !== undefined)
    throw new UsageError(`--hint and --strategy ${strategy} exclude each other. Give only one of them.`);
  if (strategy === 'hint')
    throw new UsageError('--strategy hint needs --hint N, about how many objects there are.');
  return { kind: strategy ?? 'probe' };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(count) || count < 1) {
    throw new InvalidArgumentError('Give a whole number of 1 or more.');
  }
  return count;
}

function formatResult({ bytes, objects, requests }: DuCount, seconds: number): string {
  const exact = bytes >= 1024 ? ` (${formatCount(bytes)} bytes)` : '';
  return (
    `${formatBytes(bytes)}${exact} in ${formatObjects(objects)}, ` +
    `counted with ${formatCount(requests)} ${requests === 1 ? 'request' : 'requests'} in ${seconds.toFixed(1)} s`
  );
}
