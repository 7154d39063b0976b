import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts.tsx';
import './table.css';

/** A column of a table: its head, and what it says of a row. The first one names the rows. */
export interface Column<Row> {
  readonly name: string;
  /** Its classes, such as `right` and `soft`, and `wide` or `middle` where it needs that much room. */
  readonly kind?: string;
  /** Its cells say what they are, so the name is for screen readers alone. */
  readonly isHidden?: boolean;
  /** Orders the rows by it. `isDown` is undefined while they have another order. */
  readonly sort?: { readonly isDown: boolean | undefined; readonly onSort: () => void };
  readonly of: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  kind?: string;
  /** A class of some rows. */
  rowKind?: (row: Row) => string;
}

export function Table<Row>(props: TableProps<Row>) {
  const { columns, rows, keyOf, kind, rowKind } = props;
  return (
    <table class={kind}>
      <thead>
        <tr>
          {columns.map((column) => (
            <Head key={column.name} column={column} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} class={rowKind?.(row)}>
            {columns.map(({ name, kind: own, of }, index) =>
              index === 0 ? (
                <th key={name} scope="row">
                  {of(row)}
                </th>
              ) : (
                <td key={name} class={own}>
                  {of(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Head<Row>({ column }: { column: Column<Row> }) {
  const { name, kind, isHidden = false, sort } = column;
  const order = sort?.isDown === undefined ? 'none' : sort.isDown ? 'descending' : 'ascending';
  return (
    <th scope="col" class={kind} aria-sort={sort && order}>
      {sort ? (
        <button type="button" onClick={sort.onSort}>
          {name}
          <span aria-hidden="true">{{ none: '', descending: ' ↓', ascending: ' ↑' }[order]}</span>
        </button>
      ) : isHidden ? (
        <span class="hidden">{name}</span>
      ) : (
        name
      )}
    </th>
  );
}

/** A column of buttons that do something with their row. */
export const actColumn = <Row,>(
  name: string,
  nameOf: (row: Row) => string,
  act: (row: Row) => unknown,
): Column<Row> => ({
  name,
  kind: 'right act',
  isHidden: true,
  of: (row) => <Button text={name} kind="quiet" label={`${name} ${nameOf(row)}`} onPress={() => act(row)} />,
});

/** The same as a chart shows. `label` says what it is. */
export function AsTable<Row>(
  props: TableProps<Row> & { label: string; children?: ComponentChildren; below?: ComponentChildren },
) {
  const { label, children, below, ...table } = props;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary class="under">Show as table</summary>
      {isOpen && (
        <>
          {children}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
          <section class="scroll" tabIndex={0} aria-label={label}>
            <Table {...table} />
          </section>
          {below}
        </>
      )}
    </details>
  );
}

/** One of a list that is no table, with what can be done to it. */
export function Line(props: { name: string; note: ComponentChildren; children: ComponentChildren }) {
  const { name, note, children } = props;
  return (
    <div class="row line">
      <div class="cut">
        <p class="strong">{name}</p>
        <p class="note">{note}</p>
      </div>
      {children}
    </div>
  );
}
