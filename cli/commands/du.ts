import type { Command } from 'commander';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { CliContext } from '../context.ts';
import type { ScanIdentity } from '../du/checkpoint.ts';
import type { DuTarget } from '../du/count-below.ts';
import {
  type DuOptions,
  endpointOf,
  foldersOf,
  requestPrice,
  saveEveryMs,
  strategyOf,
  withDuOptions,
} from '../du/options.ts';
import { ProgressLine } from '../du/progress-line.ts';
import { dollarsOf, formatReport, jsonReport } from '../du/report.ts';
import { parseS3Url } from '../du/s3-url.ts';
import type { DuCount } from '../du/tally.ts';

/** `du s3://BUCKET/PATH`: counts any path of any S3 bucket. It needs no lfs-quota service. */
export function registerDu(program: Command, context: CliContext): void {
  const command = program
    .command('du')
    .description('count the bytes and objects below a path of any S3 bucket')
    .argument('<url>', 's3://BUCKET, s3://BUCKET/PATH, or s3://BUCKET/PREFIX* for all keys with that prefix');
  withDuOptions(command).action(async (url: string, options: DuOptions) => du(url, options, context));
}

async function du(url: string, options: DuOptions, context: CliContext): Promise<void> {
  const target = targetOf(url, options, context);
  const { scan } = target;
  const everyMs = saveEveryMs(options);
  const price = requestPrice(options, scan.endpoint);
  const line = new ProgressLine(context, {
    terminal: { isTerminal: process.stderr.isTTY === true, columns: () => process.stderr.columns },
    dollarsOf: (sums) => dollarsOf(sums, price),
    hintObjects: options.hint,
  });
  const print = (count: DuCount) => {
    const report = { scan, count, requestPrice: price };
    context.out(options.json ? `${JSON.stringify(jsonReport(report))}\n` : formatReport(report));
  };
  // Imported only here: loading the SDK takes longer than most other commands take.
  const { countOnce, countWithFile } = await import('../du/run.ts');
  if (options.resume === undefined) print(await countOnce(target, { context, line }));
  else await countWithFile(target, { context, line, url, options, file: options.resume, everyMs, print });
}

function targetOf(url: string, options: DuOptions, context: CliContext): DuTarget {
  const { env } = context;
  const strategy = strategyOf(options);
  const keepsOrder = strategy.kind === 'sequential' || strategy.kind === 'fixed-sixteen';
  const scan: ScanIdentity = {
    ...parseS3Url(url),
    endpoint: endpointOf(options, context),
    order: keepsOrder ? strategy.kind : 'parallel',
    folders: foldersOf(options),
  };
  return {
    scan,
    region: options.region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1'),
    strategy,
    concurrency: options.concurrency ?? defaultSettings.scanConcurrency,
    rateMax: options.maxRate,
  };
}
