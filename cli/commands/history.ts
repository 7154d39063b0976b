import { type Command, InvalidArgumentError } from 'commander';
import { type HistoryBody, historySchema } from '../../lambda/api/contract/history.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { dayAfter, dayOf } from '../../lambda/domain/calendar.ts';
import { historyDaysMax } from '../../lambda/domain/history.ts';
import { type CliContext, canDrawBlocks } from '../context.ts';
import { UsageError } from '../errors.ts';
import { forecastText } from '../forecast-text.ts';
import { historyChart } from '../history-chart.ts';
import {
  type ApiOptions,
  openClient,
  parseDay,
  parseTenant,
  requireDaysInOrder,
  withApiOptions,
} from '../options.ts';
import { formatAge, formatCount, formatLimit } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

interface HistoryOptions extends ApiOptions {
  readonly from?: string;
  readonly to?: string;
  readonly days?: number;
  readonly table?: boolean;
}

/** `history TENANT`: what was stored on each day, and when the tenant is full. */
export function registerHistory(program: Command, context: CliContext): void {
  withApiOptions(program.command('history'))
    .description('show what a tenant stored on each day, and when it will be full')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--days <count>', `so many days (default: 30, at most ${historyDaysMax})`, parseDays)
    .option('--from <day>', 'the first day in UTC, such as 2026-11-21', parseDay)
    .option('--to <day>', 'the last day in UTC (default: today)', parseDay)
    .option('--table', 'a line for each day instead of the chart')
    .action(async (tenant: string, options: HistoryOptions) => {
      const days = daysOf(options, context.nowMs());
      const client = openClient(options, context, 'a token of the tenant, or the admin token');
      const query = new URLSearchParams({ ...days }).toString();
      const path = `/v1/tenants/${tenant}/history${query === '' ? '' : `?${query}`}`;
      const answer = await client.send({ method: 'GET', path, shape: historySchema });
      if (options.json) return context.out(`${answer.text}\n`);
      const { body } = answer;
      if (body.days.length === 0) return context.out('Nothing is known of these days.\n');
      const refused = renderRefusals(body, viewOf(context));
      context.out(
        options.table
          ? `${renderDays(body, viewOf(context))}${refused}`
          : `${historyChart(body, { drawBlocks: canDrawBlocks(context.env), width: viewOf(context).width })}\n${renderFigures(body)}${refused}`,
      );
    });
}

/** The first and the last day, if it is not the service that chooses them. */
function daysOf(options: HistoryOptions, nowMs: number): { from?: string; to?: string } {
  requireDaysInOrder(options);
  const { from, to, days } = options;
  if (from && to && days) throw new UsageError('Give two of --from, --to and --days: they say all.');
  if (from && days) return { from, to: dayAfter(from, days - 1) };
  const first = from ?? (days && dayAfter(to ?? dayOf(nowMs), 1 - days));
  return { ...(first && { from: first }), ...(to && { to }) };
}

function parseDays(text: string): number {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > historyDaysMax)
    throw new InvalidArgumentError(`Give a number of days from 1 to ${historyDaysMax}.`);
  return days;
}

function renderFigures({ days, limitBytes, forecast }: HistoryBody): string {
  const highest = days.reduce((most, day) => (day.maxStoredBytes > most.maxStoredBytes ? day : most));
  const last = days.at(-1) ?? highest;
  const refusals = days.reduce((sum, day) => sum + day.refusals, 0);
  const offeredBytes = days.reduce((sum, day) => sum + (day.downloads?.bytes ?? 0), 0);
  const lines = [
    `stored    ${formatBytes(last.storedBytes)} on ${last.day}`,
    `highest   ${formatBytes(highest.maxStoredBytes)} on ${highest.day}`,
    `limit     ${formatLimit(limitBytes)}`,
    `full      ${forecastText(forecast)}`,
    `refused   ${formatCount(refusals)} ${refusals === 1 ? 'batch' : 'batches'}`,
    `offered   ${formatBytes(offeredBytes)} for download`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Refused pushes of the last day, to find out whose push it was. */
function renderRefusals({ lastRefusals }: HistoryBody, view: View): string {
  if (lastRefusals.length === 0) return '';
  const rows = lastRefusals.map(({ at, repo, user, files, bytes, shortBytes, limit }) => [
    formatAge(at, view.nowMs),
    repo,
    user ?? '-',
    formatCount(files),
    formatBytes(bytes),
    formatBytes(shortBytes),
    limit,
  ]);
  const columns = [
    'refused',
    { name: 'repo', least: 16 },
    { name: 'user', least: 10 },
    { name: 'files', right: true },
    { name: 'size', right: true },
    { name: 'short by', right: true },
    'limit',
  ];
  return `\n${renderTable(columns, rows, view)}`;
}

function renderDays({ days }: HistoryBody, view: View): string {
  const rows = days.map(({ day, storedBytes, objectCount, maxStoredBytes, refusals, downloads }) => [
    day,
    formatBytes(storedBytes),
    formatBytes(maxStoredBytes),
    formatCount(objectCount),
    formatCount(refusals),
    downloads === null ? '-' : formatBytes(downloads.bytes),
  ]);
  const numbers = ['stored', 'highest', 'objects', 'refused', 'offered'];
  return renderTable(['day', ...numbers.map((name) => ({ name, right: true }))], rows, view);
}
