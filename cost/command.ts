import { parseArgs } from 'node:util';
import { defaultSettings } from '../lambda/core/rules/settings.ts';
import { byteHoursMonth } from './byte-hours.ts';
import { type MonthAt, monthEverywhere, teams } from './hosts.ts';
import { breakEvenSeconds, waiting, waysToList } from './lists.ts';
import {
  type Cost,
  defaultWorkload,
  largeRepoOf,
  monthOf,
  pricesAsOf,
  type StoreName,
  services,
  sumOf,
  totalOf,
  type Workload,
} from './operations.ts';

/** A table for the terminal: the first column is left-aligned, all others right-aligned. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return [line(header), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

/** A number with as many digits as matter. */
function formatNumber(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? ',' : '');
}

/** A number that may be tiny: below one, the two digits that matter. */
function formatSmall(value: number): string {
  return value > 0 && value < 1 ? value.toFixed(1 - Math.floor(Math.log10(value))) : formatNumber(value);
}

/** Dollars and cents, or below a dollar the two digits that matter. */
function formatDollars(dollars: number): string {
  return dollars < 1 ? formatSmall(dollars) : cents(dollars);
}

const units = [
  { unit: 'd', seconds: 86_400, from: 2 * 86_400 },
  { unit: 'h', seconds: 3600, from: 3600 },
  { unit: 'min', seconds: 60, from: 60 },
] as const;

/** A time in the unit that fits it. */
function formatDuration(seconds: number): string {
  const { unit, seconds: size } = units.find(({ from }) => seconds >= from) ?? { unit: 's', seconds: 1 };
  return `${formatNumber(seconds / size)} ${unit}`;
}

const store = { type: 'string', help: 's3 or r2' } as const;
const help = { type: 'boolean', help: 'show this help' } as const;
const monthOptions = {
  tenants: { type: 'string', help: 'tenants; without it 10, 1,000 and 100,000' },
  pushes: { type: 'string', help: 'pushes of 20 objects, per tenant and month (default: 60)' },
  fetches: { type: 'string', help: 'fetches of 20 objects, per tenant and month (default: 120)' },
  objects: { type: 'string', help: 'objects stored per tenant, in four repos (default: 4,000)' },
  'object-mb': { type: 'string', help: 'size of an object in MiB (default: 1)' },
  'store-events': { type: 'boolean', help: 'the store sends an event for every upload' },
  cdn: { type: 'boolean', help: 'downloads from S3 pass CloudFront' },
  monitoring: { type: 'string', help: 'none, basic or full (default: full)' },
  store,
  help,
} as const;
const scanOptions = {
  objects: { type: 'string', help: 'objects; without it 10⁷ to 6.7 × 10¹⁰, and 1,000 to 100,000' },
  store,
  help,
} as const;
type Texts = Partial<Record<keyof typeof monthOptions | keyof typeof scanOptions, string | boolean>>;

/** An option makes no sense. The message says what to give instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws {UsageError} */
function numberOf(texts: Texts, name: keyof Texts, otherwise: number, least = 0): number {
  const text = texts[name];
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && String(text).trim() !== '') return value;
  throw new UsageError(`--${name} must be a whole number, ${least} or more, not "${text}".`);
}

/** @throws {UsageError} */
function storesOf({ store: name }: Texts): readonly StoreName[] {
  if (name === undefined) return ['s3', 'r2'];
  if (name === 's3' || name === 'r2') return [name];
  throw new UsageError(`--store must be s3 or r2, not "${name}".`);
}

/** @throws {UsageError} */
function monitoringOf({ monitoring: name = 'full' }: Texts): Workload['monitoring'] {
  if (name === 'none' || name === 'basic' || name === 'full') return name;
  throw new UsageError(`--monitoring must be none, basic or full, not "${name}".`);
}

const cents = (dollars: number) => dollars.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
const cells = (cost: Cost) => [...services.map((service) => cents(cost[service])), cents(totalOf(cost))];
const header = [...services, 'total'];

/** A month of 10, 1,000 and 100,000 tenants, or of a number of them line by line. */
function month(texts: Texts): string {
  const workload: Workload = {
    tenants: numberOf(texts, 'tenants', 0, 1),
    pushes: numberOf(texts, 'pushes', defaultWorkload.pushes),
    fetches: numberOf(texts, 'fetches', defaultWorkload.fetches),
    objects: numberOf(texts, 'objects', defaultWorkload.objects),
    objectMb: numberOf(texts, 'object-mb', defaultWorkload.objectMb),
    storeEvents: texts['store-events'] === true,
    cdn: texts.cdn === true,
    monitoring: monitoringOf(texts),
  };
  const stores = storesOf(texts);
  if (workload.tenants === 0) {
    const rows = [10, 1000, 100_000].flatMap((tenants) =>
      stores.map((name) => [
        `${formatNumber(tenants)} tenants on ${name.toUpperCase()}`,
        ...cells(sumOf(monthOf({ ...workload, tenants }, name))),
      ]),
    );
    return formatTable(['dollars a month', ...header], rows);
  }
  const tables = stores.map((name) => {
    const lines = monthOf(workload, name).filter(({ times }) => times > 0);
    const rows = lines.map(({ what, times, cost }) => [
      what,
      formatNumber(Math.round(times)),
      ...cells(cost),
    ]);
    const title = `dollars a month on ${name.toUpperCase()}`;
    return formatTable([title, 'times', ...header], [...rows, ['total', '', ...cells(sumOf(lines))]]);
  });
  return tables.join('\n\n');
}

/** `protocol.shardRoundDays`. */
const roundDays = defaultSettings.shardRoundMs / 86_400_000;
/** LISTs a second: by default (`protocol.shardListsPerHour`), and of one function with 512 MB and with a whole core. */
const rates = [100, 290, 1000];

/** Objects of the first question, those on both sides of where 16 at once pays, and others. */
const listed = [1000, 3936, 5000, 5001, 15_500, 17_000];

/** Whether 16 LISTs at once cost more than the time that they save, and ours. */
function lists(texts: Texts): string {
  const given = numberOf(texts, 'objects', 0, 1);
  const scans = (given > 0 ? [given] : listed).map((objects) => ({ objects, ways: waysToList(objects) }));
  const names = ['16 at once', 'ours, first', 'ours, later'];
  const tables = storesOf(texts).map((store) => {
    const rows = scans.map(({ objects, ways: [inTurn, ...others] }) => [
      formatNumber(objects),
      ...[inTurn, ...others].map((way) => `${formatNumber(way.lists)} in ${formatNumber(way.rounds)}`),
      ...waiting.flatMap(({ perSecond }) =>
        others.map((way) => formatNumber(breakEvenSeconds(inTurn, way, store, perSecond))),
      ),
    ]);
    const pay = waiting.flatMap(({ mb }) => names.map((name) => `${name}, ${formatNumber(mb)} MB`));
    return formatTable([`objects on ${store.toUpperCase()}`, 'in turn', ...names, ...pay], rows);
  });
  const head =
    'LISTs in rounds, on average, and the seconds of a page above which they cost less than in turn:';
  return [head, ...tables].join('\n\n');
}

/** Counts of large repos. */
function scan(texts: Texts): string {
  const given = numberOf(texts, 'objects', 0, 1);
  const tables = storesOf(texts).map((name) => {
    const rows = (given > 0 ? [given] : [1e7, 1e8, 1e9, 1e10, 6.7e10]).map((objects) => {
      const { shards, lists, dollars } = largeRepoOf(objects, name);
      const rounds = 30 / roundDays;
      return [
        formatNumber(objects),
        ...[shards, lists].map(formatNumber),
        formatDollars(dollars),
        ...rates.map((rate) => formatDuration(lists / rate)),
        formatSmall(lists / (roundDays * 86_400)),
        formatDollars(rounds * dollars),
      ];
    });
    const times = rates.map((rate) => `${formatNumber(rate)}/s`);
    return formatTable(
      [
        `objects on ${name.toUpperCase()}`,
        'shards',
        'LISTs',
        '$',
        ...times,
        `${roundDays} d: LISTs/s`,
        '$ a month',
      ],
      rows,
    );
  });
  // A large repo is listed by shards.
  return [...tables, ...(given < defaultSettings.largeRepoObjects ? [lists(texts)] : [])].join('\n\n');
}

/** Three teams at hosts, and here. */
function hosts(): string {
  const months = teams.map(monthEverywhere);
  const rows = (months[0] ?? []).map(({ place, prices }, row) => {
    const cellOf = ({ dollars, plan }: MonthAt) => `${cents(dollars ?? Number.NaN)} ${plan ?? ''}`.trim();
    return [place, ...months.flatMap((month) => month.slice(row, row + 1).map(cellOf)), prices];
  });
  const sizes = teams.map(({ storedBytes, users }) => `${storedBytes / 1e9} GB, ${users} users`);
  return formatTable(['dollars a month', ...sizes, 'prices of'], rows);
}

/** Byte-hours. A tenant in use is reconciled about 90 times a month. */
function byteHours(texts: Texts): string {
  const tenants = numberOf(texts, 'tenants', 10_000, 1);
  const months = [90, 720].map((updates) => byteHoursMonth({ tenants, updates }));
  const cellsOf = (index: number) => months.map((rows) => formatDollars(rows[index]?.[1] ?? 0));
  return formatTable(
    [`${formatNumber(tenants)} tenants, dollars a month`, '90 reconciles each', '720'],
    (months[0] ?? []).map(([what], index) => [what, ...cellsOf(index)]),
  );
}

/** @throws {UsageError} */
function parse(args: readonly string[], options: typeof monthOptions | typeof scanOptions): Texts {
  try {
    return parseArgs({ args: [...args], options }).values as Texts;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`${error.message}. Show the options: npm run -s cost -- --help`, { cause: error });
  }
}

/**
 * What `npm run -s cost` prints: the dollars of a month. With `scan`: what it takes to count repos, large and small. With
 * `hosts` alone: a month elsewhere. With
 * `byte-hours`: what these cost, of `--tenants`.
 *
 * @throws {UsageError}
 */
export function answer(args: readonly string[]): string {
  if (args.length === 1 && args[0] === 'hosts') return hosts();
  const kinds = { scan, 'byte-hours': byteHours };
  const [, kind = month] = Object.entries(kinds).find(([name]) => name === args[0]) ?? [];
  const options = kind === scan ? scanOptions : monthOptions;
  const texts = parse(kind === month ? args : args.slice(1), options);
  if (texts.help) {
    const lines = Object.entries(options).map(([name, { help: text }]) => `  --${name.padEnd(13)} ${text}`);
    return `npm run -s cost -- [scan|hosts|byte-hours] [options]\n${lines.join('\n')}`;
  }
  return `Prices of ${pricesAsOf}: check them before you quote them.\n\n${kind(texts)}`;
}
