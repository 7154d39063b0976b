import { csvOf } from './csv.ts';

/** How long a browser has to begin with a download. */
const keptMs = 60_000;

/** Saves all rows of a table, not only those that are shown. It is made here: nothing is asked for. */
export function CsvButton<Row extends object>(props: {
  /** What the table is of, for the label and the file's name. */
  name: string;
  tenant?: string;
  rows: readonly Row[];
  fields: readonly (keyof Row & string)[];
}) {
  const { name, tenant, rows, fields } = props;
  const save = () => {
    const url = URL.createObjectURL(new Blob([csvOf(rows, fields)], { type: 'text/csv;charset=utf-8' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${[...(tenant ? [tenant] : []), name, new Date().toISOString().slice(0, 10)].join('-')}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), keptMs);
  };
  return (
    <button
      type="button"
      class="quiet"
      aria-label={`${name} as CSV`}
      disabled={rows.length === 0}
      onClick={save}
    >
      CSV
    </button>
  );
}
