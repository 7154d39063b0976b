import { parseArgs } from 'node:util';
import { helpOf, positiveNumber, UsageError, wholeNumber } from './options.ts';
import { pricesAsOf } from './prices.ts';
import {
  defaultGiantScan,
  type GiantScan,
  giantScanCost,
  queuedDollars,
  rollingIn,
  rollingWithin,
} from './scan-cost.ts';
import { formatDollars, formatDuration, formatNumber, formatSmall, formatTable } from './tables.ts';

const options = {
  objects: { type: 'string', help: 'number of objects; without it a table from 10⁶ to 6.7 × 10¹⁰' },
  'lists-per-second': { type: 'string', help: 'LISTs a second of the store, or as the operator allows' },
  workers: { type: 'string', help: 'functions at a time (default: as many as that keeps busy)' },
  'pages-at-once': { type: 'string', help: 'pages that a worker requests at a time' },
  'page-keys': { type: 'string', help: 'keys in a page' },
  'page-ms': { type: 'string', help: 'time of a page' },
  'cpu-seconds': { type: 'string', help: 'CPU seconds to read a million keys' },
  'keys-per-shard': { type: 'string', help: 'keys of a shard, about' },
  'memory-mb': { type: 'string', help: 'memory of a worker' },
  'round-days': { type: 'string', help: 'rolling scans: days of a round' },
  'lists-per-month': { type: 'string', help: 'rolling scans: LISTs a month at most' },
  store: { type: 'string', help: 's3 or r2 (default: s3)' },
  help: { type: 'boolean', help: 'show this help' },
} as const;

type Values = ReturnType<typeof parse>;

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options, strict: true }).values;
}

/** The sizes of the table in docs/scale.md. */
const giantSizes: readonly number[] = [1e6, 1e7, 1e8, 1e9, 1e10, 6.7e10];
/** Its rates. S3 promises 5,500 reads a second for a partition of a bucket, and 3,100 LISTs were published. */
const giantRates: readonly number[] = [100, 1000, 3500, 5500];
const roundDays: readonly number[] = [1, 7, 30];

/** @throws {UsageError} */
function scanOf(values: Values): GiantScan {
  const of = defaultGiantScan;
  const { store = of.store } = values;
  if (store !== 's3' && store !== 'r2') throw new UsageError(`--store must be s3 or r2. It is "${store}".`);
  const whole = (name: Exclude<keyof Values, 'help'>, otherwise: number) =>
    wholeNumber(`--${name}`, values[name], { least: 1, otherwise });
  return {
    store,
    objects: whole('objects', 1e9),
    listsPerSecond: positiveNumber('--lists-per-second', values['lists-per-second'], of.listsPerSecond),
    workers: values.workers === undefined ? of.workers : whole('workers', 1),
    pagesAtOnce: whole('pages-at-once', of.pagesAtOnce),
    pageKeys: whole('page-keys', of.pageKeys),
    pageSeconds: positiveNumber('--page-ms', values['page-ms'], 1000 * of.pageSeconds) / 1000,
    cpuSecondsPerMillion: positiveNumber('--cpu-seconds', values['cpu-seconds'], of.cpuSecondsPerMillion),
    keysPerShard: whole('keys-per-shard', of.keysPerShard),
    memoryMb: whole('memory-mb', of.memoryMb),
  };
}

/**
 * Prints what it takes to count giants: `npm run -s cost -- scan --objects 1000000000`.
 *
 * @throws {UsageError} or what `parseArgs` throws.
 */
export function printScan(args: readonly string[], print: (text: string) => void): void {
  const values = parse(args);
  if (values.help) {
    print(`npm run -s cost -- scan [options]\n${helpOf(options)}`);
    return;
  }
  const scan = scanOf(values);
  const store = scan.store === 's3' ? 'S3' : 'R2';
  print(`Counts of giants on ${store}, prices of ${pricesAsOf}: recheck them before quoting.\n`);
  if (values.objects === undefined) {
    printSizes(scan, print);
    return;
  }
  printOne(scan, print);
  printRolling(scan, values, print);
}

/** One row for each size: what a count costs, and its time at each rate. */
function printSizes(scan: GiantScan, print: (text: string) => void): void {
  const rows = giantSizes.map((objects) => {
    const { shards, requests, dollars } = giantScanCost({ ...scan, objects });
    const times = giantRates.map((listsPerSecond) =>
      formatDuration(giantScanCost({ ...scan, objects, listsPerSecond }).seconds),
    );
    const counts = [shards, requests].map(formatNumber);
    const parts = [dollars.lists, dollars.table + dollars.functions + dollars.queue].map(formatDollars);
    return [formatNumber(objects), ...counts, ...parts, ...times];
  });
  const header = ['objects', 'shards', 'LISTs', '$ LISTs', '$ rest'];
  print(formatTable([...header, ...giantRates.map((rate) => `${formatNumber(rate)}/s`)], rows));
  print('\nA month of rolling scans, by the days of a round. LISTs a second/dollars a month:\n');
  const rolling = giantSizes.map((objects) => [
    formatNumber(objects),
    ...roundDays.map((days) => {
      const { listsPerSecond, dollarsPerMonth } = rollingIn({ ...scan, objects }, days);
      return `${formatSmall(listsPerSecond)}/${formatDollars(dollarsPerMonth)}`;
    }),
  ]);
  print(formatTable(['objects', ...roundDays.map((days) => `${days} d`)], rolling));
}

/** One count, line by line. */
function printOne(scan: GiantScan, print: (text: string) => void): void {
  const cost = giantScanCost(scan);
  const { dollars } = cost;
  const inventory = dollars.inventory === undefined ? 'there is none' : formatDollars(dollars.inventory);
  const rows = [
    ['shards', formatNumber(cost.shards)],
    ['LISTs', formatNumber(cost.requests)],
    ['time', formatDuration(cost.seconds)],
    ['... hangs on', cost.limit],
    ['workers', formatNumber(cost.workers)],
    ['busy cores', formatNumber(cost.vcpu)],
    ['Gbit/s', formatNumber(cost.gigabitsPerSecond)],
    ['GB-seconds of functions', formatNumber(Math.round(cost.gbSeconds))],
    ['$ LISTs', formatDollars(dollars.lists)],
    ['$ table', formatDollars(dollars.table)],
    ['$ functions', formatDollars(dollars.functions)],
    ['$ queue', formatDollars(dollars.queue)],
    ['$ together', formatDollars(queuedDollars(dollars))],
    ['$ Distributed Map instead of the queue', formatDollars(dollars.map)],
    ['$ machines instead of functions and queue', formatDollars(dollars.machines)],
    ['$ S3 Inventory instead of a count', inventory],
  ];
  print(formatTable(['one count', formatNumber(scan.objects)], rows));
}

/** Rounds of the days asked for, and the round that a rate and a ceiling allow. */
function printRolling(scan: GiantScan, values: Values, print: (text: string) => void): void {
  const days = positiveNumber('--round-days', values['round-days'], 0);
  const listsPerMonth = wholeNumber('--lists-per-month', values['lists-per-month'], {
    least: 1,
    otherwise: Number.POSITIVE_INFINITY,
  });
  const { listsPerSecond } = scan;
  const isLimited = values['lists-per-month'] !== undefined || values['lists-per-second'] !== undefined;
  const rounds = [
    ...(days > 0 ? [days] : roundDays).map((each) => rollingIn(scan, each)),
    ...(isLimited ? [rollingWithin(scan, { listsPerSecond, listsPerMonth })] : []),
  ];
  const rows = rounds.map((round) => [
    formatDuration(round.roundDays * 86_400),
    formatSmall(round.listsPerSecond),
    formatNumber(Math.round(round.listsPerMonth)),
    formatDollars(round.dollarsPerMonth),
  ]);
  print(`\n${formatTable(['rolling scans: a round in', 'LISTs/s', 'LISTs a month', '$ a month'], rows)}`);
}
