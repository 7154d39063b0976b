/** A table for the terminal: the first column is left-aligned, all others right-aligned. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return [line(header), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

/** A number with as many digits as matter. */
export function formatNumber(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '–';
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? ',' : '');
}

/** A number that may be tiny: below one, the two digits that matter. */
export function formatSmall(value: number): string {
  return value > 0 && value < 1 ? value.toFixed(1 - Math.floor(Math.log10(value))) : formatNumber(value);
}

/** Dollars and cents, or below a dollar the two digits that matter. */
export function formatDollars(dollars: number): string {
  if (dollars < 1) return formatSmall(dollars);
  return dollars.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

const units = [
  { unit: 'd', seconds: 86_400, from: 2 * 86_400 },
  { unit: 'h', seconds: 3600, from: 3600 },
  { unit: 'min', seconds: 60, from: 60 },
] as const;

/** A time in the unit that fits it. */
export function formatDuration(seconds: number): string {
  const { unit, seconds: size } = units.find(({ from }) => seconds >= from) ?? { unit: 's', seconds: 1 };
  return `${formatNumber(seconds / size)} ${unit}`;
}
