import { formatBytes, formatPercent } from '../../lambda/core/rules/sizes.ts';
import type { Outlook } from '../../lambda/frame/contract/outlook.ts';
import type { ApiClient, BodyOf } from '../api-client.ts';
import { actionCommand, flag, tenantOperand } from '../command.ts';
import { canDrawBlocks, canRedraw } from '../context.ts';
import { CliError } from '../errors.ts';
import { managerToken } from '../options.ts';
import { forecastText, formatAge, formatCount, formatLimit, formatObjects, formatUntil } from '../render.ts';
import { displayWidth, type View, viewOf, withoutColours } from '../terminal.ts';
import { renderRepos } from './repo.ts';

type SubscriptionBody = BodyOf<'getSubscription'> & Outlook;

const watchIntervalMs = 2000;

/** `usage TENANT`: what is stored, reserved and free, and the age of the count. */
export const usageCommand = actionCommand({
  name: 'usage',
  description: 'Show usage, limit and repos',
  operands: { tenant: tenantOperand },
  options: {
    refresh: flag('--refresh', 'scan now instead of showing the last result'),
    watch: flag('--watch', 'repeat every 2 s until Ctrl-C'),
  },
  run: async (client: ApiClient, { operands: params, options, context }) => {
    const show = async (refresh?: boolean): Promise<string> => {
      const answer = await client.ask('getSubscription', { params, query: { refresh } });
      if (refresh && answer.body.usage?.source === 'cache' && !answer.body.refreshing)
        throw new CliError('Your token can read usage, but not --refresh it.', {
          hint: `You need ${managerToken}. Show the last scan: lfs-quota usage ${params.tenant}`,
          failure: 'unauthorized',
        });
      if (options.json) return `${answer.text}\n`;
      const { program, env } = context;
      return renderUsage(answer.body, { ...viewOf(context), drawBlocks: canDrawBlocks(env), program });
    };
    let text = await show(options.refresh);
    context.out(text);
    while (options.watch) {
      await context.sleep(watchIntervalMs);
      const next = await show();
      const width = canRedraw(context, 'out') && !options.json ? viewOf(context).width : undefined;
      context.out(width === undefined ? next : redraw({ text, next, width }));
      text = next;
    }
  },
});

/** The new text replaces the old: move up by the rows that it takes, then clear to the end of the screen. */
function redraw({ text, next, width }: { text: string; next: string; width: number }): string {
  const rows = text
    .split('\n')
    .slice(0, -1)
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(displayWidth(withoutColours(line)) / width)), 0);
  return `\u001b[${rows}A\u001b[J${next}`;
}

/** Of the bar: where there is room for them, and at least. */
const barCellsMost = 40;
const barCellsLeast = 8;

/** From then on the age of a count may look as if something were stuck. A count after a push takes no longer. */
const oldScanMs = 120_000;

/**
 * A tenant's usage for a person: a bar, the figures behind it, their age, and the repos.
 *
 * @param options.program how the person calls the command line.
 */
function renderUsage(
  body: SubscriptionBody,
  options: View & { readonly drawBlocks: boolean; readonly program: string },
): string {
  const title = body.plan === null ? body.tenant : `${body.tenant} (plan ${body.plan})`;
  const parts = [`${title}\n`, renderFigures(body, options)];
  if (body.limitBytes !== null && (body.usage?.reservedBytes ?? 0) > 0)
    parts.push(`See what is reserved: ${options.program} scan uploads ${body.tenant}\n`);
  if (body.refreshing) parts.push('A scan is in progress. Run it again in a few seconds.\n');
  if (body.repos.length > 0) parts.push('\n', renderRepos(body.repos, options));
  if (body.reposTruncated)
    parts.push(
      `The ${formatCount(body.repos.length)} largest. See all: ${options.program} repo list ${body.tenant}\n`,
    );
  return parts.join('');
}

function renderFigures(body: SubscriptionBody, options: View & { readonly drawBlocks: boolean }): string {
  const { usage, limitBytes } = body;
  if (usage === null) return `limit     ${formatLimit(limitBytes)}\nNot scanned yet.\n`;
  const isInBar = limitBytes !== null && usage.reservedBytes > 0;
  const mark = isInBar ? `${barMarks(options.drawBlocks).reserved} ` : '';
  const { reservedUntil, olderThanYear: old } = usage;
  const isAhead = reservedUntil !== null && Date.parse(reservedUntil) > options.nowMs;
  const last = isAhead ? `, the last ${formatUntil(reservedUntil, options.nowMs)}` : '';
  const lines = [
    `stored    ${formatBytes(usage.storedBytes)} in ${formatObjects(usage.objectCount)}`,
    ...(old && old.bytes > 0
      ? [`old       ${formatBytes(old.bytes)} of it older than a year on ${old.at.slice(0, 10)}`]
      : []),
    `reserved  ${formatBytes(usage.reservedBytes)} (${mark}uploads in progress${last})`,
  ];
  if (limitBytes !== null) {
    const { storedBytes, reservedBytes } = usage;
    lines.unshift(renderBar({ storedBytes, reservedBytes, limitBytes }, options));
    const freeBytes = limitBytes - storedBytes - reservedBytes;
    lines.push(
      freeBytes >= 0 ? `free      ${formatBytes(freeBytes)}` : `over      ${formatBytes(-freeBytes)}`,
    );
  }
  lines.push(`limit     ${formatLimit(limitBytes)}`);
  if (body.forecast?.fullOn) lines.push(`full      ${forecastText(body.forecast)}`);
  lines.push(`scanned   ${formatAge(usage.scannedAt, options.nowMs)}${whyOld(body, options.nowMs)}`);
  return `${lines.join('\n')}\n`;
}

/** Why an old count is no sign of a fault, if nothing is under way that a newer one would show. */
function whyOld({ usage, refreshing, deleting, repos }: SubscriptionBody, nowMs: number): string {
  const isOld = usage !== null && nowMs - Date.parse(usage.scannedAt) >= oldScanMs;
  const isDeleting = deleting === true || repos.some((repo) => repo.deleting === true);
  if (!isOld || usage.reservedBytes > 0 || refreshing || isDeleting) return '';
  return ' (unchanged since the last scan)';
}

/**
 * `[█████▒▒·······]  62.5% of 1 GiB`: stored, then reserved, then free. Even the smallest amount gets a cell, and the
 * bar is full only when nothing is free.
 */
function renderBar(
  size: { storedBytes: number; reservedBytes: number; limitBytes: number },
  { drawBlocks, width }: { readonly drawBlocks: boolean; readonly width?: number | undefined },
): string {
  const { storedBytes, reservedBytes, limitBytes } = size;
  const takenBytes = storedBytes + reservedBytes;
  const isFull = takenBytes >= limitBytes;
  const figures = `  ${formatPercent(takenBytes, limitBytes)} of ${formatBytes(limitBytes)}`;
  const barCells = Math.max(
    barCellsLeast,
    Math.min(barCellsMost, (width ?? Number.POSITIVE_INFINITY) - figures.length - 2),
  );
  const cellsMax = isFull ? barCells : barCells - 1;
  const takenCells = cellsFor(takenBytes, { limitBytes, cellsMax, barCells });
  const cellsForStored = reservedBytes > 0 && takenCells > 1 ? takenCells - 1 : takenCells;
  const storedCells = cellsFor(storedBytes, { limitBytes, cellsMax: cellsForStored, barCells });
  const { stored, reserved, free } = barMarks(drawBlocks);
  const bar = stored.repeat(storedCells) + reserved.repeat(takenCells - storedCells);
  return `[${bar.padEnd(barCells, free)}]${figures}`;
}

function barMarks(drawBlocks: boolean): { stored: string; reserved: string; free: string } {
  return drawBlocks ? { stored: '█', reserved: '▒', free: '·' } : { stored: '#', reserved: '+', free: '.' };
}

function cellsFor(bytes: number, scale: { limitBytes: number; cellsMax: number; barCells: number }): number {
  if (scale.limitBytes === 0) return scale.cellsMax;
  const cells = Math.round((bytes / scale.limitBytes) * scale.barCells);
  return Math.min(scale.cellsMax, Math.max(bytes > 0 ? 1 : 0, cells));
}
