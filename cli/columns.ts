import { type Column, renderTable } from './table.ts';
import type { View } from './terminal.ts';

/** A column of a table: its name, what it has of an item, and how it is laid out. */
export type ColumnOf<T> = readonly [
  name: string,
  cellOf: (item: T, view: View) => string,
  layout?: Omit<Column, 'name'>,
];

/** A number or the like. */
export const right = { right: true } as const;
export const wraps = { wraps: true } as const;
export const least = (cells: number) => ({ least: cells });

/** What prints items as a table of these columns, the first named above the others. */
export const tableOf =
  <T>(columns: readonly ColumnOf<T>[]) =>
  (items: readonly T[], view: View): string =>
    renderTable(
      columns.map(([name, _, layout]) => ({ name, ...layout })),
      items.map((item) => columns.map(([, cellOf]) => cellOf(item, view))),
      view,
    );
