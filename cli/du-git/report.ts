import { formatBytes, formatPercent } from '../../lambda/core/rules/sizes.ts';
import { right, tableOf } from '../columns.ts';
import type { LfsAddress } from '../git/git.ts';
import { formatCount, formatObjects } from '../render.ts';
import { cellsOf, printable, type View } from '../terminal.ts';
import type { PathSum, UsageByPath } from './usage.ts';

interface ReportOptions {
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
export function formatPaths(
  { tenant, repo }: LfsAddress,
  usage: UsageByPath,
  { depth, top, view, drawBlocks }: ReportOptions,
): string {
  const { stored, inNoCommit } = usage;
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
    shown.length === 0 ? '' : pathTable(stored.bytes)(shown, view),
    left > 0 ? `… and ${formatCount(left)} smaller paths: --top ${rows.length}\n` : '',
    notesOf(usage, `${tenant} ${repo}`),
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

const pathTable = (storedBytes: number) =>
  tableOf<PathNode>([
    ['stored', ({ bytes }) => formatBytes(bytes), { right: true, stays: true }],
    ['share', ({ bytes }) => formatPercent(bytes, storedBytes), right],
    ['now', ({ currentBytes }) => formatBytes(currentBytes), right],
    ['older', ({ bytes, currentBytes }) => formatBytes(bytes - currentBytes), right],
    ['objects', ({ objectCount }) => formatCount(objectCount), right],
    ['path', ({ path }) => path, { least: 20, stays: true }],
  ]);

function notesOf({ files, inNoCommit, others, notStoredCount }: UsageByPath, place: string): string {
  const hasPaths = files.length + notStoredCount > 0;
  const lines = [
    !hasPaths && 'This clone has no commits with LFS files. Fetch them, or pass another clone with --clone.',
    hasPaths &&
      inNoCommit.objectCount > 0 &&
      `Not referenced in this clone: ${sumText(inNoCommit)}. To delete unreferenced objects: lfs-quota gc ${place}`,
    others.objectCount > 0 && `Keys that aren't LFS objects: ${sumText(others)}.`,
    notStoredCount > 0 &&
      `Referenced, but not stored: ${formatObjects(notStoredCount)}. To push them: git lfs push --all origin`,
  ].filter((line) => line !== false);
  return lines.length === 0 ? '' : `\n${lines.join('\n')}\n`;
}

const sumText = ({ bytes, objectCount }: UsageByPath['stored']) =>
  `${formatBytes(bytes)} in ${formatObjects(objectCount)}`;

/** What a rectangle of the map stands for. */
interface MapItem {
  readonly label: string;
  /** Shown below the label if there is room for all of it. */
  readonly note: string;
  readonly weight: number;
}

interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A cell of a terminal is about twice as high as it is wide. */
const cellRatio = 2;
/** Two borders, and some of a label between them. */
const leastWidth = 6;
const leastHeight = 3;
/** Of those that are drawn as one: as many of all as it takes for a rectangle somewhere. */
const othersShares = [0, 0.015, 0.05, 0.1, 0.2];

/**
 * Draws items as rectangles whose areas are their shares: squarified, the largest at the top left. An item that is too
 * small for a rectangle shares the last one with others.
 *
 * @param options.width of the map, in cells. @param options.drawLines by lines; otherwise by `+`, `-` and `|`.
 * @returns lines, each with its newline. Empty if nothing has any weight.
 */
export function treemap(
  items: readonly MapItem[],
  { width, height, drawLines }: { width: number; height: number; drawLines: boolean },
): string {
  const all = items.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  for (let shown = all.length; shown > 0; shown -= 1) {
    for (const share of shown === all.length ? [0] : othersShares) {
      const rest = others(all.slice(shown - 1), total * share);
      const drawn = shown === all.length ? all : [...all.slice(0, shown - 1), rest];
      const places = placesOf(drawn, { width, height });
      if (places) return draw(drawn, places, { width, height, drawLines });
    }
  }
  return '';
}

/** Drawn larger than it is, if it would not be seen otherwise. */
function others(items: readonly MapItem[], weightMin: number): MapItem {
  const weight = items.reduce((sum, item) => sum + item.weight, 0);
  return { label: `+${items.length}`, note: 'smaller', weight: Math.max(weight, weightMin) };
}

/** @returns undefined if one of them would be too small. */
function placesOf(
  items: readonly MapItem[],
  size: { width: number; height: number },
): Rectangle[] | undefined {
  const places: Rectangle[] = [];
  let left: Rectangle = { left: 0, top: 0, ...size };
  let weightLeft = items.reduce((sum, { weight }) => sum + weight, 0);
  for (let begin = 0; begin < items.length; ) {
    const count = rowLength(items.slice(begin), { left, weightLeft });
    const row = items.slice(begin, begin + count);
    const rowWeight = row.reduce((sum, { weight }) => sum + weight, 0);
    const isLast = begin + count === items.length;
    const isColumn = left.width >= left.height * cellRatio;
    const whole = isColumn ? left.width : left.height;
    const thick = isLast ? whole : Math.round((whole * rowWeight) / weightLeft);
    const strip = isColumn ? { ...left, width: thick } : { ...left, height: thick };
    places.push(...divided(strip, { row, rowWeight, isColumn }));
    left = isColumn
      ? { ...left, left: left.left + thick, width: left.width - thick }
      : { ...left, top: left.top + thick, height: left.height - thick };
    weightLeft -= rowWeight;
    begin += count;
  }
  return places.every(({ width, height }) => width >= leastWidth && height >= leastHeight)
    ? places
    : undefined;
}

/** How many of the next items make the best row along the shorter side: the one whose worst shape is nearest to a square. */
function rowLength(
  items: readonly MapItem[],
  { left, weightLeft }: { left: Rectangle; weightLeft: number },
): number {
  const [wide, high] = [left.width, left.height * cellRatio];
  const [side, area] = [Math.min(wide, high), wide * high];
  let [best, sum, smallest] = [Number.POSITIVE_INFINITY, 0, Number.POSITIVE_INFINITY];
  const largest = items[0]?.weight ?? 0;
  for (const [index, { weight }] of items.entries()) {
    sum += weight;
    smallest = Math.min(smallest, weight);
    const [rowArea, unit] = [(area * sum) / weightLeft, area / weightLeft];
    const thick = rowArea / side;
    const worst = Math.max((largest * unit) / thick ** 2, thick ** 2 / (smallest * unit));
    if (worst > best) return index;
    best = worst;
  }
  return items.length;
}

/** A strip, divided among the items of a row. */
function divided(
  strip: Rectangle,
  { row, rowWeight, isColumn }: { row: readonly MapItem[]; rowWeight: number; isColumn: boolean },
): Rectangle[] {
  const whole = isColumn ? strip.height : strip.width;
  let [sum, at] = [0, 0];
  return row.map(({ weight }) => {
    sum += weight;
    const end = Math.round((whole * sum) / rowWeight);
    const place = isColumn
      ? { ...strip, top: strip.top + at, height: end - at }
      : { ...strip, left: strip.left + at, width: end - at };
    at = end;
    return place;
  });
}

const lines = { corners: ['┌', '┐', '└', '┘'], across: '─', down: '│', more: '…' } as const;
const signs = { corners: ['+', '+', '+', '+'], across: '-', down: '|', more: '~' } as const;

function draw(
  items: readonly MapItem[],
  places: readonly Rectangle[],
  { width, height, drawLines }: { width: number; height: number; drawLines: boolean },
): string {
  const { corners, across, down, more } = drawLines ? lines : signs;
  const cells = Array.from({ length: height }, () => new Array<string>(width).fill(' '));
  const put = (x: number, y: number, text: string) => {
    const row = cells[y];
    if (row) for (const [index, cell] of cellsOf(text).entries()) row[x + index] = cell;
  };
  places.forEach((place, index) => {
    const { left, top } = place;
    const [right, bottom] = [left + place.width - 1, top + place.height - 1];
    const edge = across.repeat(place.width - 2);
    put(left, top, corners[0] + edge + corners[1]);
    put(left, bottom, corners[2] + edge + corners[3]);
    for (let y = top + 1; y < bottom; y += 1) {
      put(left, y, down);
      put(right, y, down);
    }
    const item = items[index];
    const room = place.width - 2;
    put(left + 1, top + 1, cut(item?.label ?? '', room, more));
    const note = item?.note ?? '';
    if (place.height > 3 && [...note].length <= room) put(left + 1, top + 2, note);
  });
  return cells.map((row) => `${row.join('').trimEnd()}\n`).join('');
}

/** The end of a path says more than its beginning. */
function cut(text: string, room: number, more: string): string {
  const cells = cellsOf(text);
  if (cells.length <= room) return text;
  if (room < 2) return '';
  const [first, ...others] = cells.slice(cells.length - room + 1);
  // Half of a wide letter is none.
  return more + [first || ' ', ...others].join('');
}

/** What lies below a path of a clone: a file, or a folder, whose path ends with a slash. That of the root is empty. */
interface PathNode extends PathSum {
  /** The largest first. Empty for a file. */
  readonly children: readonly PathNode[];
}

interface OpenNode {
  readonly path: string;
  bytes: number;
  currentBytes: number;
  objectCount: number;
  readonly children: Map<string, OpenNode>;
}

const openNode = (path: string): OpenNode => ({
  path,
  bytes: 0,
  currentBytes: 0,
  objectCount: 0,
  children: new Map(),
});

/** Adds up files by folder. */
export function pathTree(files: Iterable<PathSum>): PathNode {
  const root = openNode('');
  for (const file of files) {
    const parts = file.path.split('/');
    let node = root;
    add(node, file);
    parts.forEach((part, index) => {
      const isFile = index === parts.length - 1;
      const name = isFile ? part : `${part}/`;
      const child = node.children.get(name) ?? openNode(node.path + name);
      node.children.set(name, child);
      add(child, file);
      node = child;
    });
  }
  return closed(root);
}

function add(node: OpenNode, { bytes, currentBytes, objectCount }: PathSum): void {
  node.bytes += bytes;
  node.currentBytes += currentBytes;
  node.objectCount += objectCount;
}

function closed({ children, ...node }: OpenNode): PathNode {
  const all = [...children.values()].map(closed);
  return { ...node, children: all.sort(largestFirst) };
}

const largestFirst = (a: PathNode, b: PathNode) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1);

/**
 * The paths that tell most: a folder with a large share is shown by what is in it, again and again, while there are not
 * more than `countMax`.
 *
 * @returns the largest first. Together they are all of the tree.
 */
export function tellingPaths(root: PathNode, { countMax }: { countMax: number }): PathNode[] {
  let shown: PathNode[] = [...root.children];
  const isWorthOpening = (node: PathNode) =>
    node.children.length === 1 ||
    (node.children.length > 1 &&
      node.bytes * openedShareMin >= root.bytes &&
      shown.length - 1 + node.children.length <= countMax);
  for (;;) {
    const next = shown.sort(largestFirst).find(isWorthOpening);
    if (!next) return shown;
    shown = [...shown.filter((node) => node !== next), ...next.children];
  }
}

/** A folder of less than a twentieth of all bytes is shown as one. */
const openedShareMin = 20;

/** The paths of a level: files above it, and folders at it. @param depth 1 or more. */
export function pathsAt(root: PathNode, depth: number): PathNode[] {
  const level = (node: PathNode, left: number): PathNode[] =>
    left === 0 || node.children.length === 0
      ? [node]
      : node.children.flatMap((child) => level(child, left - 1));
  return root.children.flatMap((child) => level(child, depth - 1)).sort(largestFirst);
}
