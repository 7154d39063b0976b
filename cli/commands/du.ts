import { type Command, InvalidArgumentError, Option } from 'commander';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { ScanStrategy } from '../../lambda/domain/scan/strategy.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import { explainStoreError } from './du-errors.ts';
import { group, ProgressLine } from './du-progress.ts';

interface DuOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly json?: boolean;
  readonly strategy?: 'probe' | 'sixteen' | 'fixed-sixteen' | 'sequential' | 'hint';
  readonly hint?: number;
  readonly concurrency?: number;
}

/** `du s3://BUCKET/PATH`: bytes and objects of any path in any S3 bucket. Needs no lfs-quota service. */
export function registerDu(program: Command, context: CliContext): void {
  program
    .command('du')
    .description('bytes and objects below a path of any S3 bucket')
    .argument('<url>', 's3://BUCKET, s3://BUCKET/PATH, or s3://BUCKET/BEGINNING* for all keys that begin so')
    .option(
      '--endpoint <url>',
      'an S3-compatible store (env: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; default: AWS)',
    )
    .option('--region <name>', 'the region to ask first (env: AWS_REGION; default: us-east-1)')
    .option('--json', 'print one JSON object')
    .addOption(
      new Option('--strategy <name>', 'how to begin; docs/scan.md compares them (default: probe)').choices([
        'probe',
        'sixteen',
        'fixed-sixteen',
        'sequential',
        'hint',
      ]),
    )
    .option('--hint <objects>', 'about how many objects there are, if you know', parseCount)
    .option('--concurrency <requests>', 'most requests at once (default: 128)', parseCount)
    .action(async (url: string, options: DuOptions) => du(url, options, context));
}

async function du(url: string, options: DuOptions, context: CliContext): Promise<void> {
  const { bucket, prefix } = parseS3Url(url);
  const endpoint = endpointOf(options, context);
  const region =
    options.region ?? (context.env['AWS_REGION'] || context.env['AWS_DEFAULT_REGION'] || 'us-east-1');
  const { concurrency = defaultSettings.scanConcurrency } = options;
  const settings = {
    region,
    socketsMax: concurrency,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
  };
  const strategy = strategyOf(options);
  const listing = new ScanListing({ settings, bucket, followsRegion: endpoint === undefined });
  const scan = createPathScan({ listing, clock: systemClock, settings: defaultSettings });
  const line = new ProgressLine(context, process.stderr.isTTY === true && !options.json);
  const startedMs = context.nowMs();
  try {
    const outcome = await scan.scan({
      prefix,
      strategy,
      concurrency,
      onPage: (progress) => line.show(progress),
    });
    line.clear();
    if (outcome.kind !== 'done') throw new Error('A scan without a limit ended unfinished.');
    const { storedBytes: bytes, objectCount: objects, requests } = outcome;
    const seconds = (context.nowMs() - startedMs) / 1000;
    if (options.json)
      context.out(`${JSON.stringify({ bucket, prefix, bytes, objects, requests, seconds })}\n`);
    else context.out(`${describe({ bytes, objects, requests, seconds })}\n`);
  } catch (error) {
    line.clear();
    throw explainStoreError(error, { bucket, endpoint, region });
  }
}

/** `s3://bucket/a/b` is what lies below `a/b/`; with a `*` at its end, all keys that begin with what precedes it. */
export function parseS3Url(url: string): { bucket: string; prefix: string } {
  const [, bucket, path = ''] = /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]{1,62})(?:\/(.*))?$/s.exec(url) ?? [];
  if (bucket === undefined) {
    throw new UsageError(`'${url}' names no bucket: give s3://BUCKET or s3://BUCKET/PATH`);
  }
  if (path.endsWith('*')) return { bucket, prefix: path.slice(0, -1) };
  return { bucket, prefix: path === '' || path.endsWith('/') ? path : `${path}/` };
}

function endpointOf(options: DuOptions, { env }: CliContext): string | undefined {
  const endpoint = options.endpoint ?? (env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || undefined);
  if (endpoint !== undefined && !/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : '')) {
    throw new UsageError(
      `'${endpoint}' is no address: give one such as https://ACCOUNT.r2.cloudflarestorage.com`,
    );
  }
  return endpoint;
}

function strategyOf({ strategy, hint }: DuOptions): ScanStrategy {
  if (hint !== undefined && (strategy ?? 'hint') === 'hint') return { kind: 'hint', objects: hint };
  if (hint !== undefined)
    throw new UsageError(`--hint does not go with --strategy ${strategy}: leave one out`);
  if (strategy === 'hint')
    throw new UsageError('--strategy hint needs --hint N, about how many objects there are');
  return { kind: strategy ?? 'probe' };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(count) || count < 1) {
    throw new InvalidArgumentError('Give a whole number of 1 or more.');
  }
  return count;
}

function describe(found: { bytes: number; objects: number; requests: number; seconds: number }): string {
  const { bytes, objects, requests, seconds } = found;
  const exact = bytes >= 1024 ? ` (${group(bytes)} bytes)` : '';
  return (
    `${formatBytes(bytes)}${exact} in ${group(objects)} ${objects === 1 ? 'object' : 'objects'}, ` +
    `counted with ${group(requests)} ${requests === 1 ? 'request' : 'requests'} in ${seconds.toFixed(1)} s`
  );
}
