/** The heads of a table's columns, each with its class. What only has buttons is named for screen readers alone. */
export function TableHead({ columns }: { columns: readonly (readonly [name: string, kind?: string])[] }) {
  return (
    <thead>
      <tr>
        {columns.map(([name, kind = '']) => (
          <th key={name} scope="col" class={kind}>
            {kind === 'act' ? <span class="hidden">{name}</span> : name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
