import { InvalidArgumentError } from 'commander';
import { dayAfter, dayOf } from '../../../lambda/core/rules/dates.ts';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { historyDaysMax } from '../../../lambda/subjects/history/rules/history.ts';
import type { BodyOf } from '../../api-client.ts';
import { least, right, tableOf } from '../../columns.ts';
import { type CliSubject, flag, option, routeCommand, tenantOperand } from '../../command.ts';
import { canDrawBlocks } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { parseDay, requireDaysInOrder } from '../../options.ts';
import { forecastText, formatAge, formatCount, formatCounted, formatLimit } from '../../render.ts';
import { byteHoursCommands } from './byte-hours.ts';

type HistoryBody = BodyOf<'getHistory'>;

/** `history TENANT`: what was stored on each day, and when the tenant is full. */
const historyCommand = routeCommand({
  name: 'history',
  description: 'Show daily usage and forecast',
  route: 'getHistory',
  operands: { tenant: tenantOperand },
  options: {
    days: option('--days <count>', `number of days (default: 30, up to ${historyDaysMax})`, parseDays),
    from: option('--from <day>', 'the first day in UTC, such as 2026-11-21', parseDay),
    to: option('--to <day>', 'the last day in UTC (default: today)', parseDay),
    table: flag('--table', 'a row per day instead of the chart'),
  },
  wanted: 'a token of the tenant, or the admin token',
  query: ({ options, context }) => daysOf(options, context.nowMs()),
  print: (body, { options, context, view }) => {
    if (body.days.length === 0) return 'No data for these days.\n';
    const { lastRefusals } = body;
    const refused = lastRefusals.length === 0 ? '' : `\n${refusalsTable(lastRefusals, view)}`;
    if (options.table) return `${daysTable(body.days, view)}${refused}`;
    const chart = historyChart(body, { drawBlocks: canDrawBlocks(context.env), width: view.width });
    return `${chart}\n${renderFigures(body)}${refused}`;
  },
});

interface DayOptions {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly days: number | undefined;
}

/** The first and the last day, if it is not the service that chooses them. */
function daysOf(options: DayOptions, nowMs: number): { from?: string; to?: string } {
  requireDaysInOrder(options);
  const { from, to, days } = options;
  if (from && to && days) throw new UsageError('Use two of --from, --to and --days.');
  if (from && days) return { from, to: dayAfter(from, days - 1) };
  const first = from ?? (days && dayAfter(to ?? dayOf(nowMs), 1 - days));
  return { ...(first && { from: first }), ...(to && { to }) };
}

function parseDays(text: string): number {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > historyDaysMax)
    throw new InvalidArgumentError(`Use a number of days from 1 to ${historyDaysMax}.`);
  return days;
}

function renderFigures({ days, limitBytes, forecast }: HistoryBody): string {
  const own = days.filter(({ sample }) => !sample);
  const [highest] = [...own].sort((a, b) => b.maxStoredBytes - a.maxStoredBytes);
  const last = own.at(-1);
  const sample = days[days.length - own.length - 1];
  const refusals = days.reduce((sum, day) => sum + day.refusals, 0);
  const offeredBytes = days.reduce((sum, day) => sum + (day.downloads?.bytes ?? 0), 0);
  const lines = [
    ...(sample ? [`sample    until ${sample.day}, not your data`] : []),
    ...(last ? [`stored    ${formatBytes(last.storedBytes)} on ${last.day}`] : []),
    ...(highest ? [`highest   ${formatBytes(highest.maxStoredBytes)} on ${highest.day}`] : []),
    `limit     ${formatLimit(limitBytes)}`,
    `full      ${forecastText(forecast)}`,
    `rejected  ${formatCounted(refusals, 'batch', 'batches')}`,
    `offered   ${formatBytes(offeredBytes)} for download`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Refused pushes of the last day, to find out whose push it was. */
const refusalsTable = tableOf<HistoryBody['lastRefusals'][number]>([
  ['rejected', ({ at }, { nowMs }) => formatAge(at, nowMs)],
  ['repo', ({ repo }) => repo, least(16)],
  ['user', ({ user }) => user ?? '-', least(10)],
  ['files', ({ files, atLeast }) => `${formatCount(files)}${atLeast ? '+' : ''}`, right],
  ['size', ({ bytes }) => formatBytes(bytes), right],
  ['short by', ({ shortBytes }) => formatBytes(shortBytes), right],
  ['limit', ({ limit }) => limit],
]);

const daysTable = tableOf<Day>([
  ['day', ({ day, sample }) => `${day}${sample ? ' (sample)' : ''}`],
  ['stored', ({ storedBytes }) => formatBytes(storedBytes), right],
  ['highest', ({ maxStoredBytes }) => formatBytes(maxStoredBytes), right],
  ['objects', ({ objectCount }) => formatCount(objectCount), right],
  ['rejected', ({ refusals }) => formatCount(refusals), right],
  ['offered', ({ downloads }) => (downloads === null ? '-' : formatBytes(downloads.bytes)), right],
]);

type Day = HistoryBody['days'][number];

const chartRows = 8;
/** Days beyond this share their columns. */
const columnsMax = 60;
const columnsLeast = 10;
/** `1023.99 GiB |` and ` limit`. */
const besideColumns = 19;
/** By eighths of a cell. */
const blocks = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const asciiBlocks = [' ', ' ', ' ', ' ', '#', '#', '#', '#', '#'];

/**
 * The most that was stored on each day, as columns. The limit is at the top if the highest column reaches half of it;
 * else the chart is as high as that.
 */
function historyChart(
  { days, limitBytes }: { days: readonly Day[]; limitBytes: number | null },
  { drawBlocks, width: room }: { readonly drawBlocks: boolean; readonly width?: number | undefined },
): string {
  const columns = columnsOf(days, columnsIn(room));
  const highest = Math.max(...columns);
  const hasLimit = limitBytes !== null && limitBytes > 0 && highest * 2 >= limitBytes;
  const top = Math.max(hasLimit ? limitBytes : 0, highest, 1);
  const labels = [formatBytes(top), ...Array.from({ length: chartRows - 2 }, () => ''), formatBytes(0)];
  const width = Math.max(...labels.map((label) => label.length));
  const lines = labels.map((label, index) => {
    const cells = columns.map((bytes) => cellOf(bytes / top, { row: chartRows - 1 - index, drawBlocks }));
    const isLimit = index === 0 && hasLimit && top === limitBytes;
    return `${label.padStart(width)} |${cells.join('')}${isLimit ? ' limit' : ''}`.trimEnd();
  });
  return `${[...lines, daysBelow({ days, columns: columns.length, width })].join('\n')}\n`;
}

/** How many fit beside what names the rows. */
const columnsIn = (room: number | undefined) =>
  Math.max(columnsLeast, Math.min(columnsMax, (room ?? Number.POSITIVE_INFINITY) - besideColumns));

/** One for each day, or for each few: the highest of them. */
function columnsOf(days: readonly Day[], countMax: number): number[] {
  const daysEach = Math.ceil(days.length / countMax);
  const count = Math.ceil(days.length / daysEach);
  return Array.from({ length: count }, (_, index) =>
    Math.max(...days.slice(index * daysEach, (index + 1) * daysEach).map((day) => day.maxStoredBytes)),
  );
}

/** What of a column is seen in a row. Even the smallest amount shows in the lowest. */
function cellOf(share: number, { row, drawBlocks }: { row: number; drawBlocks: boolean }): string {
  const eighths = Math.round(share * chartRows * 8) - row * 8;
  const least = row === 0 && share > 0 ? 1 : 0;
  const marks = drawBlocks ? blocks : asciiBlocks;
  const filled = Math.min(8, Math.max(least, eighths));
  return marks[drawBlocks || filled === 0 ? filled : Math.max(row === 0 ? 4 : 0, filled)] ?? ' ';
}

/** The first day below the first column, and the last below the last, if there is room for both. */
function daysBelow(input: { days: readonly Day[]; columns: number; width: number }): string {
  const { days, columns, width } = input;
  const [first = '', last = ''] = [days[0]?.day, days.at(-1)?.day];
  const between = columns - first.length - last.length;
  const text =
    between > 0 ? first + ' '.repeat(between) + last : last === first ? first : `${first} to ${last}`;
  return `${' '.repeat(width + 2)}${text}`;
}

export const history: CliSubject = {
  commands: { 380: historyCommand, 385: byteHoursCommands },
  examples: {
    history: [
      ['lfs-quota history acme', 'and when it is full'],
      ['lfs-quota history acme --days 90 --table'],
    ],
    'byte-hours list': [
      ['lfs-quota byte-hours list', 'the last final hour'],
      ['lfs-quota byte-hours list --from 2026-11-01T00Z --to 2026-12-01T00Z --json'],
    ],
    'byte-hours correct': [
      ['lfs-quota byte-hours correct acme 2026-11-28T07Z --by=-7200000 --reason "Outage of November 28"'],
    ],
  },
  hints: { 'correction-exists': 'Choose the next --number, such as 2.' },
};
