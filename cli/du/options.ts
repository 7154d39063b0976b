import { type Command, InvalidArgumentError, Option } from 'commander';
import { defaultSettings } from '../../lambda/rules/settings.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import { endpointOption, parseS3Url, parseUpTo, storePlaceOf } from '../options.ts';
import { shellWords } from '../render.ts';
import type { ScanIdentity } from './checkpoint.ts';
import type { DuTarget } from './count.ts';

/** The options of `du`. */

const strategies = ['probe', 'sixteen', 'fixed-sixteen', 'sequential'] as const;

/** Folders that are shown unless --top says otherwise. */
const topDefault = 20;
/** All of them are in each file that is saved. */
const topMax = 10_000;
/** A key has at most 1,024 bytes. */
const depthMax = 1024;
/** Seconds between two saves. What is listed in this time is listed again after a kill. */
const defaultSaveSeconds = 5;
/** Dollars for 1,000 LISTs of S3 in us-east-1 and most other regions, on 2026-11-21. */
const listPriceOfAws = 0.005;

export interface DuOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly json?: boolean;
  readonly byPrefix?: boolean;
  readonly depth?: number;
  readonly top?: number;
  readonly resume?: string;
  readonly saveEvery?: number;
  readonly maxRate?: number;
  readonly listPrice?: number;
  readonly strategy?: (typeof strategies)[number];
  readonly concurrency?: number;
}

export function withDuOptions(command: Command): Command {
  return command
    .option(...endpointOption)
    .option('--region <name>', 'region to try first (env: AWS_REGION; default: us-east-1)')
    .option('--json', 'print one JSON object')
    .option('--by-prefix', 'also add up each folder; it takes no request more')
    .option('--depth <levels>', 'with --by-prefix: levels of folders (default: 1)', parseUpTo(depthMax))
    .option(
      '--top <folders>',
      `with --by-prefix: how many of the largest are shown (default: ${topDefault})`,
      parseUpTo(topMax),
    )
    .option('--resume <file>', 'save in this file what is counted, and go on with what it has')
    .option(
      '--save-every <seconds>',
      `with --resume: what a kill may cost (default: ${defaultSaveSeconds})`,
      parseDecimal({ above: 0 }),
    )
    .option(
      '--max-rate <requests>',
      'most requests a second (default: as many as the store takes)',
      parseUpTo(),
    )
    .option(
      '--list-price <dollars>',
      `price of 1,000 LIST requests, to show what it costs (default: ${listPriceOfAws} on AWS)`,
      parseDecimal({ above: -1 }),
    )
    .addOption(
      new Option(
        '--strategy <name>',
        'how the scan begins; docs/scan.md compares them (default: probe)',
      ).choices(strategies),
    )
    .option('--concurrency <requests>', 'most requests at a time (default: 128)', parseUpTo());
}

/** What is counted, and how. @throws {UsageError} */
export function targetOf(url: string, options: DuOptions, context: CliContext): DuTarget {
  const { strategy = 'probe' } = options;
  const { endpoint = null, region } = storePlaceOf(options, context);
  return {
    scan: {
      ...parseS3Url(url),
      endpoint,
      order: strategy === 'sequential' || strategy === 'fixed-sixteen' ? strategy : 'parallel',
      folders: foldersOf(options),
    },
    region,
    strategy: { kind: strategy },
    concurrency: options.concurrency ?? defaultSettings.scanConcurrency,
    rateMax: options.maxRate,
  };
}

/** @throws {UsageError} for an option that needs another one. */
function foldersOf({ byPrefix, depth, top, strategy }: DuOptions): ScanIdentity['folders'] {
  if (!byPrefix) {
    if (depth !== undefined) throw new UsageError('--depth is for folders: add --by-prefix.');
    if (top !== undefined) throw new UsageError('--top is for folders: add --by-prefix.');
    return null;
  }
  if (strategy === 'sequential') {
    throw new UsageError(
      '--by-prefix needs a store that lists names in order; --strategy sequential is for one that does not. Give only one of them.',
    );
  }
  return { depth: depth ?? 1, top: top ?? topDefault };
}

/** How a count is saved. */
export interface Saving {
  /** The file. */
  readonly name: string;
  readonly everyMs: number;
  /** The command that goes on with it. */
  readonly command: string;
}

/** @returns undefined: the count is not saved. @throws {UsageError} */
export function savingOf(url: string, options: DuOptions): Saving | undefined {
  const { resume: name, saveEvery } = options;
  if (name === undefined) {
    if (saveEvery !== undefined) throw new UsageError('--save-every is for a file: add --resume FILE.');
    return undefined;
  }
  const words = Object.entries(options).flatMap(([option, value]) =>
    value === true ? [flagOf(option)] : [flagOf(option), String(value)],
  );
  return {
    name,
    everyMs: (saveEvery ?? defaultSaveSeconds) * 1000,
    command: `lfs-quota ${shellWords(['du', url, ...words])}`,
  };
}

/** `--save-every` for `saveEvery`. */
export function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Dollars for a request; undefined: nobody knows what this store costs. */
export function requestPrice({ listPrice }: DuOptions, endpoint: string | null): number | undefined {
  const price = listPrice ?? (endpoint === null ? listPriceOfAws : undefined);
  return price === undefined ? undefined : price / 1000;
}

function parseDecimal({ above }: { above: number }): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && value > above && value <= 1e6) return value;
    throw new InvalidArgumentError(`Give a number such as 0.5${above < 0 ? '' : ', above 0'}.`);
  };
}
