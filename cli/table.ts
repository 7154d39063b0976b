import { type Colour, displayWidth, type Paint, printable, shortened, wrapped } from './terminal.ts';

/**
 * Tables that fit the terminal. One that is too wide is made narrower in this order, and no row ever wraps:
 *
 * 1. Columns with `least` are shortened in the middle, the widest first.
 * 2. Columns leave the row from the right, and follow below it as `name: value`. Those with `stays` leave last.
 * 3. A text that is alone on its line and does not fit is shortened too, or with `wraps` goes on in the next line.
 *
 * Without a width nothing is shortened, and everything stays in its row.
 */

export interface Column {
  readonly name: string;
  /** A number or the like: aligned to the right. */
  readonly right?: boolean;
  /** Cells to which its text may be shortened in the row. Without it, it is not shortened there. */
  readonly least?: number;
  /** What names the row: it leaves the row last. */
  readonly stays?: boolean;
  /** Text that says something in each word. */
  readonly wraps?: boolean;
  /** How a cell of the row is shown. */
  readonly colourOf?: (cell: string) => Colour | undefined;
}

export interface TableOptions {
  /** Cells of the terminal; undefined: as wide as it gets. */
  readonly width: number | undefined;
  /** Whether the first line names the columns. */
  readonly hasHeading?: boolean;
  readonly paint?: Paint;
}

const gap = '  ';
const indent = '  ';
/** Says nothing, so it need not be said on a line of its own. */
const nothing: ReadonlySet<string> = new Set(['', '-']);
/** Narrower than this, nothing can be read any more. */
const narrowest = 20;

interface Layout {
  /** Indices of the columns in the row, with their cells. */
  readonly inRow: readonly { readonly index: number; readonly width: number }[];
  readonly below: readonly number[];
}

/**
 * Columns two spaces apart. The first column `stays`, unless others do.
 *
 * @returns lines, each with its newline; without rows only the heading.
 */
export function renderTable(
  columns: readonly (Column | string)[],
  rows: readonly (readonly string[])[],
  { width, hasHeading = true, paint = (_, text) => text }: TableOptions,
): string {
  const all = columns.map((column) => (typeof column === 'string' ? { name: column } : column));
  const cells = rows.map((row) => row.map(printable));
  const room = width === undefined ? undefined : Math.max(narrowest, width);
  const layout = layoutOf(all, hasHeading ? [all.map(({ name }) => name), ...cells] : cells, room);
  const names = all.map(({ name }) => name);
  const heading = hasHeading ? [paint('bold', rowLine(all, names, { layout }))] : [];
  const lines = cells.flatMap((row) => [
    rowLine(all, row, { layout, paint }),
    ...(room === undefined ? [] : linesBelow(all, row, { below: layout.below, width: room })),
  ]);
  return [...heading, ...lines].map((line) => `${line}\n`).join('');
}

function layoutOf(
  columns: readonly Column[],
  lines: readonly (readonly string[])[],
  room: number | undefined,
): Layout {
  const natural = columns.map((_, index) =>
    Math.max(0, ...lines.map((line) => displayWidth(line[index] ?? ''))),
  );
  const asTheyAre = natural.map((width, index) => ({ index, width }));
  if (room === undefined) return { inRow: asTheyAre, below: [] };
  const leaving = leavingOrder(columns);
  for (let gone = 0; gone < leaving.length; gone += 1) {
    const below = leaving.slice(0, gone).sort((a, b) => a - b);
    const inRow = fitted(
      asTheyAre.filter(({ index }) => !below.includes(index)),
      { columns, room },
    );
    if (inRow) return { inRow, below };
  }
  const last = leaving.at(-1) ?? 0;
  const others = leaving.slice(0, -1).sort((a, b) => a - b);
  return { inRow: [{ index: last, width: room }], below: others };
}

/** Indices, the first to leave the row first. */
function leavingOrder(columns: readonly Column[]): number[] {
  const stays = (index: number) =>
    columns.some((column) => column.stays) ? columns[index]?.stays === true : index === 0;
  const fromTheRight = columns.map((_, index) => index).reverse();
  return [...fromTheRight.filter((index) => !stays(index)), ...fromTheRight.filter(stays)];
}

/** The widths with which these columns fit, or undefined. */
function fitted(
  natural: Layout['inRow'],
  { columns, room }: { columns: readonly Column[]; room: number },
): Layout['inRow'] | undefined {
  const widths = natural.map(({ width }) => width);
  const leastOf = (position: number) => {
    const column = columns[natural[position]?.index ?? 0];
    return column?.least === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(column.least, column.name.length);
  };
  let over = widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1) - room;
  while (over > 0) {
    const shrinkable = widths.map((width, position) => (width > leastOf(position) ? width : 0));
    const widest = Math.max(...shrinkable);
    if (widest === 0) return undefined;
    widths[shrinkable.indexOf(widest)] = widest - 1;
    over -= 1;
  }
  return natural.map(({ index }, position) => ({ index, width: widths[position] ?? 0 }));
}

function rowLine(
  columns: readonly Column[],
  row: readonly string[],
  { layout, paint }: { layout: Layout; paint?: Paint },
): string {
  const { inRow } = layout;
  return inRow
    .map(({ index, width }, position) => {
      const cell = shortened(row[index] ?? '', width);
      const column = columns[index];
      const colour = paint && column?.colourOf?.(row[index] ?? '');
      const text = colour ? paint(colour, cell) : cell;
      const space = ' '.repeat(Math.max(0, width - displayWidth(cell)));
      if (column?.right) return space + text;
      return position === inRow.length - 1 ? text : text + space;
    })
    .join(gap)
    .trimEnd();
}

/** What has left a row: as many `name: value` on a line as fit. */
function linesBelow(
  columns: readonly Column[],
  row: readonly string[],
  { below, width }: { below: readonly number[]; width: number },
): string[] {
  const room = width - indent.length;
  const lines: string[] = [];
  for (const index of below) {
    const value = (row[index] ?? '').trim();
    if (nothing.has(value)) continue;
    const { name = '', wraps = false } = columns[index] ?? {};
    const label = name === '' ? '' : `${name}: `;
    const longer = [lines.at(-1), label + value].filter((text) => text !== undefined).join(gap);
    if (lines.length > 0 && displayWidth(longer) <= room) lines[lines.length - 1] = longer;
    else if (wraps) lines.push(...wrapped(label + value, room));
    else lines.push(label + shortened(value, room - displayWidth(label)));
  }
  return lines.map((line) => indent + line);
}
