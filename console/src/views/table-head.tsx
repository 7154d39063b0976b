/** A column's name and its class. `isHidden`: its cells say what they are, so the name is for screen readers alone. */
type ColumnHead = readonly [name: string, kind?: string, isHidden?: boolean];

/** The heads of a table's columns. What only has buttons is named for screen readers alone, too. */
export function TableHead({ columns }: { columns: readonly ColumnHead[] }) {
  return (
    <thead>
      <tr>
        {columns.map(([name, kind = '', isHidden = kind === 'act']) => (
          <th key={name} scope="col" class={kind}>
            {isHidden ? <span class="hidden">{name}</span> : name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
