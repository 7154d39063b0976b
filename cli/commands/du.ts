import { type Command, InvalidArgumentError, Option } from 'commander';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { choice, flag, given, type OptionsOf, option } from '../command.ts';
import { asCalled, type CliContext, canDrawBlocks } from '../context.ts';
import type { ScanIdentity } from '../du/checkpoint.ts';
import type { DuCount, DuTarget } from '../du/count.ts';
import { type Grouping, groupings } from '../du/groups.ts';
import { dollarsOf, formatReport, jsonReport, ProgressLine } from '../du/report.ts';
import type { Saving } from '../du/run.ts';
import type { Unfinished } from '../du/unfinished.ts';
import { costOfHistory, formatCost } from '../du-git/cost.ts';
import { formatPaths } from '../du-git/report.ts';
import { pathsOfObjects, usageByPath } from '../du-git/usage.ts';
import { UsageError } from '../errors.ts';
import { type LfsAddress, lfsAddressOf } from '../git/git.ts';
import { objectPages } from '../list-pages.ts';
import { endpointOption, parseRepo, parseS3Url, parseTenant, parseUpTo, storePlaceOf } from '../options.ts';
import { WaitLine } from '../progress.ts';
import { formatCount, shellWords } from '../render.ts';
import { openClient, requireServerOf } from '../server.ts';
import { viewOf } from '../terminal.ts';

/** What `--git` can be used with. */
const gitModeOptions = ['git', 'clone', 'url', 'token', 'tenant', 'repo', 'depth', 'top', 'json'];
/** What `--git --cost` can be used with. */
const costOptions = ['git', 'cost', 'clone', 'downloadsGb', 'users', 'json'];

/** As many as GitLab's free plan takes. */
const usersDefault = 5;

/**
 * `du s3://BUCKET/PATH`: counts any path of any S3 bucket, without any lfs-quota service. `du --git`: what a repo of the
 * service stores, by the paths of a clone.
 */
export function registerDu(program: Command, context: CliContext): void {
  const command = program
    .command('du')
    .description('Measure a bucket, or a repo by path (--git)')
    .argument('[url]', 's3://BUCKET, s3://BUCKET/PATH, or s3://BUCKET/PREFIX*');
  for (const { option: made } of Object.values({ ...bucketOptions, ...gitOptions })) command.addOption(made);
  command.action(async (url: string | undefined, options: DuOptions & DuGitOptions) => {
    refuseMixture(url, options);
    if (url !== undefined) return du(url, options, context);
    return options.cost ? duCost(options, context) : duGit(options, context);
  });
}

/** @throws {UsageError} for options of both, or of neither. */
function refuseMixture(url: string | undefined, options: DuOptions & DuGitOptions): void {
  const given = Object.keys(options).filter((name) => name !== 'signRequest' || !options.signRequest);
  if (options.git) {
    if (url !== undefined) throw new UsageError('Use either --git or an s3:// URL.');
    const fitting = options.cost ? costOptions : gitModeOptions;
    const other = given.find((name) => !fitting.includes(name));
    if (other === undefined) return;
    if (costOptions.includes(other)) throw new UsageError(`${flagOf(other)} needs --cost.`);
    throw new UsageError(`${flagOf(other)} doesn't work with ${options.cost ? '--cost' : '--git'}.`);
  }
  if (url === undefined) throw new UsageError('Use s3://BUCKET, or --git in a clone.');
  const gitOnly = given.find((name) => name in gitOptions);
  if (gitOnly !== undefined) throw new UsageError(`${flagOf(gitOnly)} needs --git.`);
}

async function du(url: string, options: DuOptions, context: CliContext): Promise<void> {
  const target = targetOf(url, options, context);
  const { scan } = target;
  const saving = savingOf(url, options);
  const price = requestPrice(options, scan.endpoint);
  const line = new ProgressLine(context, (sums) => dollarsOf(sums, price), options.hint);
  const print = (count: DuCount, unfinished?: Unfinished) => {
    const report = { scan, count, unfinished, requestPrice: price, top: options.top ?? topDefault };
    const view = { ...viewOf(context), drawBlocks: canDrawBlocks(context.env) };
    context.out(options.json ? `${JSON.stringify(jsonReport(report))}\n` : formatReport(report, view));
  };
  // Imported only here: loading the SDK takes longer than most other commands take.
  const { runDu } = await import('../du/run.ts');
  await runDu(target, { context, line, print, saving });
}

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

const bucketOptions = {
  endpoint: option(...endpointOption),
  region: option('--region <name>', 'region to try first (env: AWS_REGION; default: us-east-1)'),
  json: flag('--json', 'print one JSON object'),
  all: flag('--all', 'also old versions, delete markers and unfinished uploads: all that is billed'),
  byPrefix: flag('--by-prefix', 'also total each folder, without extra requests'),
  by: option(
    '--by <kinds>',
    'also total by age, suffix, class or size; repeatable, also by commas',
    parseKinds,
  ),
  depth: option(
    '--depth <levels>',
    'with --by-prefix or --git: levels of folders (default: 1; --git: any)',
    parseUpTo(depthMax),
  ),
  top: option(
    '--top <folders>',
    `with --by, --by-prefix or --git: number of rows (default: ${topDefault})`,
    parseUpTo(topMax),
  ),
  resume: option('--resume <file>', 'save progress in this file, and resume from it'),
  saveEvery: option(
    '--save-every <seconds>',
    `with --resume: interval of saves (default: ${defaultSaveSeconds})`,
    parseDecimal({ above: 0 }),
  ),
  csv: option('--csv <file>', 'also write a row for each key to a new file'),
  signRequest: given<boolean>(
    new Option('--no-sign-request', 'without credentials, for a public bucket').conflicts('requestPayer'),
  ),
  requestPayer: flag('--request-payer', 'pay for the requests to a requester-pays bucket'),
  maxRate: option(
    '--max-rate <requests>',
    'maximum requests per second (default: what the store accepts)',
    parseUpTo(),
  ),
  listPrice: option(
    '--list-price <dollars>',
    `price of 1,000 LIST requests (default: ${listPriceOfAws} on AWS)`,
    parseDecimal({ above: -1 }),
  ),
  strategy: choice('--strategy <name>', 'how the scan starts (default: probe)', strategies),
  hint: option('--hint <objects>', 'approximate number of objects: shows how much is done', parseUpTo()),
  concurrency: option('--concurrency <requests>', 'concurrent requests (default: 128)', parseUpTo()),
};
type DuOptions = OptionsOf<typeof bucketOptions>;

/** What is counted, and how. @throws {UsageError} */
function targetOf(url: string, options: DuOptions, context: CliContext): DuTarget {
  const { strategy = 'probe', hint } = options;
  if (hint !== undefined && options.strategy !== undefined)
    throw new UsageError('Use only one of --hint and --strategy.');
  if (options.all && (options.by || options.csv)) throw new UsageError('Use --all without --by and --csv.');
  if (options.csv && options.resume) throw new UsageError('Use only one of --csv and --resume.');
  const { endpoint = null, region } = storePlaceOf(options, context);
  return {
    scan: {
      ...parseS3Url(url),
      endpoint,
      order: strategy === 'sequential' || strategy === 'fixed-sixteen' ? strategy : 'parallel',
      folders: foldersOf(options),
      ...(options.by && { by: options.by }),
      ...(options.all && { all: true }),
    },
    region,
    strategy: hint === undefined ? { kind: strategy } : { kind: 'hint', objects: hint },
    concurrency: options.concurrency ?? defaultSettings.scanConcurrency,
    rateMax: options.maxRate,
    csv: options.csv,
    isUnsigned: !options.signRequest,
    isPayer: options.requestPayer === true,
  };
}

/** @throws {UsageError} for an option that needs another one. */
function foldersOf({ byPrefix, by, depth, top }: DuOptions): ScanIdentity['folders'] {
  if (!byPrefix) {
    if (depth !== undefined) throw new UsageError('--depth needs --by-prefix or --git.');
    if (top !== undefined && by === undefined)
      throw new UsageError('--top needs --by, --by-prefix or --git.');
    return null;
  }
  return { depth: depth ?? 1, top: top ?? topDefault };
}

/** @returns undefined: the count is not saved. @throws {UsageError} */
function savingOf(url: string, options: DuOptions): Saving | undefined {
  const { resume: name, saveEvery } = options;
  if (name === undefined) {
    if (saveEvery !== undefined) throw new UsageError('--save-every needs --resume FILE.');
    return undefined;
  }
  const { signRequest, ...others } = options;
  const words = Object.entries(others).flatMap(([option, value]) =>
    value === true ? [flagOf(option)] : [flagOf(option), String(value)],
  );
  if (!signRequest) words.push('--no-sign-request');
  return {
    name,
    everyMs: (saveEvery ?? defaultSaveSeconds) * 1000,
    command: `lfs-quota ${shellWords(['du', url, ...words])}`,
  };
}

/** `--save-every` for `saveEvery`. */
function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Dollars for a request; undefined: nobody knows what this store costs. */
function requestPrice({ listPrice }: DuOptions, endpoint: string | null): number | undefined {
  const price = listPrice ?? (endpoint === null ? listPriceOfAws : undefined);
  return price === undefined ? undefined : price / 1000;
}

function parseKinds(text: string, before: readonly Grouping[] = []): Grouping[] {
  const kinds = [...before, ...text.split(',')];
  const found = groupings.filter((each) => kinds.includes(each));
  if (found.length === kinds.length) return found;
  throw new InvalidArgumentError(`Use ${groupings.join(', ')}, or several of them by commas.`);
}

const decimalMax = 1e6;

function parseDecimal({ above }: { above: number }): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && value > above && value <= decimalMax) return value;
    const least = above < 0 ? '' : 'above 0, ';
    throw new InvalidArgumentError(`Use a number ${least}up to ${formatCount(decimalMax)}, such as 0.5.`);
  };
}

const gitOptions = {
  git: flag('--git', 'measure the repo of this clone, by file path'),
  clone: option('--clone <dir>', 'with --git: another clone'),
  cost: flag('--cost', 'with --git: what the history costs a month at hosts, without a server'),
  downloadsGb: option(
    '--downloads-gb <GB>',
    'with --cost: a month (default: 3 × stored)',
    parseDecimal({ above: -1 }),
  ),
  users: option(
    '--users <users>',
    `with --cost: users of the repo (default: ${usersDefault})`,
    parseUpTo(1e6),
  ),
  tenant: option('--tenant <tenant>', 'with --git: the tenant (default: by lfs.url)', parseTenant),
  repo: option('--repo <repo>', 'with --git: the repo (default: by lfs.url)', parseRepo),
  url: option('--url <url>', 'with --git: server URL (default: by lfs.url)'),
  token: option('--token <token>', 'with --git: a token of the tenant (env: LFS_QUOTA_TOKEN)'),
};
type DuGitOptions = OptionsOf<typeof gitOptions> & Pick<DuOptions, 'depth' | 'top' | 'json'>;

const pathsDefault = 20;

/** `du --git --cost`: what the history of a clone costs a month. */
async function duCost(options: DuGitOptions, context: CliContext): Promise<void> {
  const { clone = '.', downloadsGb, users = usersDefault } = options;
  const line = new WaitLine(context, { isQuiet: true });
  const cost = await costOfHistory(clone, { downloadsGb, users, onProgress: scanningOn(line) });
  line.clear();
  context.out(
    options.json ? `${JSON.stringify(cost)}\n` : formatCost(cost, { ...viewOf(context), given: options }),
  );
}

const scanningOn = (line: WaitLine) => (count: number) =>
  line.show(`scanning: ${formatCount(count)} objects of git`);

/** `du --git`: what a repo stores, by the paths that its objects have in a clone. */
async function duGit(options: DuGitOptions, context: CliContext): Promise<void> {
  const { clone = '.' } = options;
  const address = await addressOf(clone, options);
  const line = new WaitLine(context, { isQuiet: true });
  const paths = await pathsOfObjects(clone, { onProgress: scanningOn(line) });
  line.clear();
  const { stored, others } = await storedOf(address, options, context);
  const usage = usageByPath(stored, paths, others);
  const { baseUrl: url, tenant, repo } = address;
  if (options.json) return context.out(`${JSON.stringify({ url, tenant, repo, ...usage })}\n`);
  const report = formatPaths(address, usage, {
    depth: options.depth,
    top: options.top ?? pathsDefault,
    view: viewOf(context),
    drawBlocks: canDrawBlocks(context.env),
  });
  context.out(asCalled(report, context));
}

async function addressOf(clone: string, options: DuGitOptions): Promise<LfsAddress> {
  const { url, tenant, repo } = options;
  if ((tenant === undefined) !== (repo === undefined))
    throw new UsageError('Use both --tenant and --repo, or neither.');
  if (tenant === undefined || repo === undefined) {
    const address = await lfsAddressOf(clone);
    return url === undefined ? address : { ...address, baseUrl: url };
  }
  return { baseUrl: url ?? '', tenant, repo };
}

async function storedOf(
  { tenant, repo, ...address }: LfsAddress,
  options: DuGitOptions,
  context: CliContext,
) {
  const { clone: folder = '.' } = options;
  const client = await openClient(options, { ...context, folder }, 'the admin token, or one of the tenant');
  // A clone of somebody else's doesn't say where a token goes.
  if (address.baseUrl !== '' && options.url === undefined) requireServerOf(address, client);
  const stored = new Map<string, number>();
  const others = { bytes: 0, objectCount: 0 };
  for await (const { body } of objectPages(client, { tenant, repo })) {
    for (const { oid, sizeBytes } of body.objects) stored.set(oid, sizeBytes);
    const files = (body.files ?? []).map((file) => ({ ...file, objectCount: 1 }));
    for (const { objectCount, sizeBytes } of [...body.others, ...files]) {
      others.objectCount += objectCount;
      others.bytes += sizeBytes;
    }
  }
  return { stored, others };
}
