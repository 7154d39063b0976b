import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { TableHead } from './table-head.tsx';

/**
 * What a drawing shows, as a table. It's made when it is opened.
 *
 * @param props.rows the first cell is what the row is of.
 */
export function FoldedTable(props: {
  label: string;
  columns: readonly string[];
  rows: () => readonly (readonly string[])[];
  /** What is above and below it. */
  above?: ComponentChildren;
  below?: ComponentChildren;
}) {
  const { label, columns, rows, above, below } = props;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Show as table</summary>
      {above}
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        <section class="scroll" tabIndex={0} aria-label={label}>
          <table>
            <TableHead columns={columns.map((name, index) => [name, index > 0 ? 'right' : ''])} />
            <tbody>
              {rows().map(([first, ...others], index) => (
                <tr key={index}>
                  <th scope="row">{first}</th>
                  {others.map((text, column) => (
                    <td key={column} class="right">
                      {text}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {below}
    </details>
  );
}
