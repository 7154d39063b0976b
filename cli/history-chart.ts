import type { HistoryBody } from '../lambda/api/contract/history.ts';
import { formatBytes } from '../lambda/domain/bytes.ts';

type Day = HistoryBody['days'][number];

const rows = 8;
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
export function historyChart(
  { days, limitBytes }: { days: readonly Day[]; limitBytes: number | null },
  { drawBlocks, width: room }: { readonly drawBlocks: boolean; readonly width?: number | undefined },
): string {
  const columns = columnsOf(days, columnsIn(room));
  const highest = Math.max(...columns);
  const hasLimit = limitBytes !== null && limitBytes > 0 && highest * 2 >= limitBytes;
  const top = Math.max(hasLimit ? limitBytes : 0, highest, 1);
  const labels = [formatBytes(top), ...Array.from({ length: rows - 2 }, () => ''), formatBytes(0)];
  const width = Math.max(...labels.map((label) => label.length));
  const lines = labels.map((label, index) => {
    const cells = columns.map((bytes) => cellOf(bytes / top, { row: rows - 1 - index, drawBlocks }));
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
  const eighths = Math.round(share * rows * 8) - row * 8;
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
