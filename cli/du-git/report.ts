import { formatBytes, formatPercent } from '../../lambda/domain/bytes.ts';
import type { LfsAddress } from '../git/lfs-address.ts';
import { printable } from '../printable.ts';
import { formatCount, formatObjects } from '../render.ts';
import { renderTable } from '../table.ts';
import type { View } from '../view.ts';
import { type PathNode, pathsAt, pathTree, tellingPaths } from './path-tree.ts';
import { treemap } from './treemap.ts';
import type { UsageByPath } from './usage-by-path.ts';

export interface ReportOptions {
  /** Levels of folders. undefined: those that tell most. */
  readonly depth: number | undefined;
  /** Rows of the table. */
  readonly top: number;
  readonly view: View;
  readonly drawBlocks: boolean;
}

/** Paths of the picture, at most. */
const drawnMax = 24;
const mapHeight = 16;
const mapWidthMax = 100;
/** Without a terminal. */
const mapWidthDefault = 80;

/** Usage by path, for a person: a picture, a table, and what is in neither. */
export function formatReport(
  { tenant, repo }: LfsAddress,
  usage: UsageByPath,
  { depth, top, view, drawBlocks }: ReportOptions,
): string {
  const { stored, inNoCommit, others, notStoredCount } = usage;
  const root = pathTree(usage.files);
  const telling = tellingPaths(root, { countMax: Math.min(top, drawnMax) });
  const rows = depth === undefined ? telling : pathsAt(root, depth);
  const shown = rows.slice(0, top);
  const width = Math.max(20, Math.min(view.width ?? mapWidthDefault, mapWidthMax));
  const map = treemap(mapItems(telling, inNoCommit.bytes), {
    width,
    height: mapHeight,
    drawLines: drawBlocks,
  });
  const left = rows.length - shown.length;
  return [
    `${tenant}/${repo}: ${formatBytes(stored.bytes)} in ${formatObjects(stored.objectCount)}\n\n`,
    map === '' ? '' : `${map}\n`,
    shown.length === 0 ? '' : pathTable(shown, stored.bytes, view),
    left > 0 ? `… and ${formatCount(left)} smaller paths: --top ${rows.length}\n` : '',
    notesOf({ inNoCommit, others, notStoredCount }, `${tenant} ${repo}`),
  ].join('');
}

function mapItems(paths: readonly PathNode[], bytesInNoCommit: number) {
  const items = paths.map(({ path, bytes }) => ({
    label: printable(path),
    note: formatBytes(bytes),
    weight: bytes,
  }));
  const rest = { label: 'in no commit', note: formatBytes(bytesInNoCommit), weight: bytesInNoCommit };
  return [...items, rest];
}

function pathTable(paths: readonly PathNode[], storedBytes: number, view: View): string {
  const rows = paths.map(({ path, bytes, currentBytes, objectCount }) => [
    formatBytes(bytes),
    formatPercent(bytes, storedBytes),
    formatBytes(currentBytes),
    formatBytes(bytes - currentBytes),
    formatCount(objectCount),
    path,
  ]);
  const columns = [
    { name: 'stored', right: true, stays: true },
    { name: 'share', right: true },
    { name: 'now', right: true },
    { name: 'older', right: true },
    { name: 'objects', right: true },
    { name: 'path', least: 20, stays: true },
  ];
  return renderTable(columns, rows, view);
}

function notesOf(
  { inNoCommit, others, notStoredCount }: Pick<UsageByPath, 'inNoCommit' | 'others' | 'notStoredCount'>,
  place: string,
): string {
  const lines = [
    inNoCommit.objectCount > 0 &&
      `In no commit of this clone: ${sumText(inNoCommit)}. To delete what no commit needs: \`lfs-quota gc open ${place}\`.`,
    others.objectCount > 0 && `Keys that are no objects of git-lfs: ${sumText(others)}.`,
    notStoredCount > 0 &&
      `In a commit, but not stored: ${formatObjects(notStoredCount)}. To push them: git lfs push --all origin`,
  ].filter((line) => line !== false);
  return lines.length === 0 ? '' : `\n${lines.join('\n')}\n`;
}

const sumText = ({ bytes, objectCount }: UsageByPath['stored']) =>
  `${formatBytes(bytes)} in ${formatObjects(objectCount)}`;

/** The same for a program: every file, the largest first. */
export function jsonReport({ baseUrl: url, tenant, repo }: LfsAddress, usage: UsageByPath): unknown {
  return { url, tenant, repo, ...usage };
}
