/** Tables as CSV (RFC 4180), for spreadsheets and programs. */

type CsvCell = string | number | boolean | null | undefined | readonly string[];

/** What a spreadsheet would take for a formula, also behind spaces, and as East Asian keyboards write it. */
const formula = /^[\s\0]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n\0]/;

/**
 * One column for each field, under its name. Numbers are written as they are, text is always in quotes: so no character of it
 * separates anything, in whatever country. Text that a spreadsheet would run as a formula gets an apostrophe before it,
 * which spreadsheets take for "this is text".
 *
 * @returns lines that end with CRLF. A byte order mark comes first only if there are other than ASCII characters: without
 * it Excel would not read them as UTF-8.
 */
export function csvOf<Row extends object>(
  rows: readonly Row[],
  fields: readonly (keyof Row & string)[],
): string {
  const lines = [
    fields.join(','),
    ...rows.map((row) => fields.map((field) => cellText(row[field] as CsvCell)).join(',')),
  ];
  const text = `${lines.join('\r\n')}\r\n`;
  // Any character beyond ASCII.
  return /[^\0-\x7f]/.test(text) ? String.fromCharCode(0xfeff) + text : text;
}

function cellText(cell: CsvCell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell === 'number' || typeof cell === 'boolean') return String(cell);
  const text = typeof cell === 'string' ? cell : cell.join(' ');
  const safe = formula.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
