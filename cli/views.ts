import type { RepoBody } from '../lambda/api/contract/repos.ts';
import type { SubscriptionBody } from '../lambda/api/contract/tenants.ts';
import { formatBytes, formatPercent } from '../lambda/domain/bytes.ts';
import { forecastText } from './forecast-text.ts';
import { printable } from './printable.ts';
import { formatAge, formatCount, formatLimit, formatObjects, formatUntil } from './render.ts';
import { type Column, renderTable } from './table.ts';
import type { View } from './view.ts';

/** Of the bar: where there is room for them, and at least. */
const barCellsMost = 40;
const barCellsLeast = 8;

/** From then on the age of a count may look as if something were stuck. A count after a push takes no longer. */
const oldCountMs = 120_000;

/**
 * A tenant's usage for a person: a bar, the figures behind it, their age, and the repos.
 *
 * @param options.program how the person calls the command line.
 */
export function renderUsage(
  body: SubscriptionBody,
  options: View & { readonly drawBlocks: boolean; readonly program: string },
): string {
  const title = body.plan === null ? body.tenant : `${body.tenant} (plan ${printable(body.plan)})`;
  const parts = [`${title}\n`, renderFigures(body, options)];
  if (body.limitBytes !== null && (body.usage?.reservedBytes ?? 0) > 0)
    parts.push(`See what is reserved: ${options.program} reservation list ${body.tenant}\n`);
  if (body.refreshing) parts.push('A recount is running: ask again in a moment.\n');
  if (body.repos.length > 0) parts.push('\n', renderRepos(body.repos, options));
  if (body.reposTruncated)
    parts.push(
      `The ${formatCount(body.repos.length)} largest. See all: ${options.program} repo list ${body.tenant}\n`,
    );
  return parts.join('');
}

function renderFigures(body: SubscriptionBody, options: View & { readonly drawBlocks: boolean }): string {
  const { usage, limitBytes } = body;
  if (usage === null) return `limit     ${formatLimit(limitBytes)}\nNot counted yet.\n`;
  const isInBar = limitBytes !== null && usage.reservedBytes > 0;
  const mark = isInBar ? `${barMarks(options.drawBlocks).reserved} ` : '';
  const { reservedUntil } = usage;
  const isAhead = reservedUntil !== null && Date.parse(reservedUntil) > options.nowMs;
  const last = isAhead ? `, the last ${formatUntil(reservedUntil, options.nowMs)}` : '';
  const lines = [
    `stored    ${formatBytes(usage.storedBytes)} in ${formatObjects(usage.objectCount)}`,
    `reserved  ${formatBytes(usage.reservedBytes)} (${mark}admitted uploads that may still arrive${last})`,
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
  if (body.forecast.fullOn) lines.push(`full      ${forecastText(body.forecast)}`);
  lines.push(`counted   ${formatAge(usage.countedAt, options.nowMs)}${whyOld(body, options.nowMs)}`);
  return `${lines.join('\n')}\n`;
}

/** Why an old count is no sign of a fault, if nothing is under way that a newer one would show. */
function whyOld({ usage, refreshing, deleting, repos }: SubscriptionBody, nowMs: number): string {
  const isOld = usage !== null && nowMs - Date.parse(usage.countedAt) >= oldCountMs;
  const isDeleting = deleting === true || repos.some((repo) => repo.deleting === true);
  if (!isOld || usage.reservedBytes > 0 || refreshing || isDeleting) return '';
  return ' (nothing was uploaded since, so it was not counted again)';
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

/** A table of repos, the largest first. */
export function renderRepos(repos: readonly RepoBody[], view: View): string {
  // Most tenants limit none.
  const hasLimits = repos.some(({ limitBytes }) => limitBytes !== null);
  const isAnyPublic = repos.some(({ publicRead }) => publicRead !== undefined);
  const isAnyMapped = repos.some(({ gitHost }) => gitHost !== undefined);
  const rows = [...repos]
    .sort((a, b) => (b.storedBytes ?? 0) - (a.storedBytes ?? 0))
    .map((body) => [
      nameOf(body),
      body.storedBytes === null ? '-' : formatBytes(body.storedBytes),
      ...(hasLimits ? [body.limitBytes === null ? '-' : formatBytes(body.limitBytes)] : []),
      body.objectCount === null ? '-' : formatCount(body.objectCount),
      body.countedAt === null
        ? body.uploading
          ? 'uploading'
          : 'never'
        : formatAge(body.countedAt, view.nowMs),
      ...(isAnyPublic ? [publicCell(body)] : []),
      ...(isAnyMapped ? [body.gitHost ? `${body.gitHost.host} ${body.gitHost.repo}` : '-'] : []),
    ]);
  const columns: Column[] = [
    { name: 'repo', least: 16 },
    { name: 'stored', right: true },
    ...(hasLimits ? [{ name: 'limit', right: true }] : []),
    { name: 'objects', right: true },
    { name: 'counted' },
    ...(isAnyPublic ? [{ name: 'public' }] : []),
    ...(isAnyMapped ? [{ name: 'git host', least: 16 }] : []),
  ];
  return renderTable(columns, rows, view);
}

function publicCell({ publicRead }: RepoBody): string {
  if (!publicRead) return '-';
  const { monthlyLimitBytes } = publicRead;
  return monthlyLimitBytes === null ? 'unlimited' : `${formatBytes(monthlyLimitBytes)} a month`;
}

function nameOf({ repo, deleting }: RepoBody): string {
  // Keys directly below the tenant belong to no repo.
  const name = repo === '' ? '(no repo)' : repo;
  return deleting ? `${name} (being deleted)` : name;
}
