import { formatCount } from '../../cli/render.ts';
import { dayMs, dayOf } from '../../lambda/core/rules/dates.ts';
import { repoPattern } from '../../lambda/core/rules/names.ts';
import { formatBytes, formatPercent } from '../../lambda/core/rules/sizes.ts';
import type { ForecastBody } from '../../lambda/frame/contract/outlook.ts';
import type { SessionBody } from '../../lambda/frame/contract/sessions.ts';

/** Text of the console. Sizes and ages are those of the command line. */

/** A number and its unit. The space between them does not break. */
export const bytesText = (bytes: number) => formatBytes(bytes).replace(' ', '\u00a0');

/** As the command line writes it, but for the space. */
export const percentText = (part: number, whole: number) =>
  formatPercent(part, whole).replace('%', '\u00a0%');

/** `1,204`, or a dash for what is not known. */
export const scanText = (count: number | null) => (count === null ? '–' : formatCount(count));

/** Keys directly below the tenant belong to no repo. */
export const nameOf = (repo: string) => (repo === '' ? '(no repo)' : repo);

/** Names of repos to choose from: what else the store has can't be asked for. */
export const namedRepos = (repos: readonly { readonly repo: string }[]) =>
  repos.map(({ repo }) => repo).filter((repo) => repoPattern.test(repo));

const dayFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

/** `2026-11-21` → `21 Nov 2026`. */
export const dayText = (day: string) => dayFormat.format(new Date(`${day}T00:00:00Z`));

/** The last so many days (UTC), today included. */
export function lastDays(count: number, nowMs: number): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(nowMs - (count - 1 - index) * dayMs));
}

/** A time of today by the clock, another one with its day, as the reader's clock has it. */
export function timeText(iso: string, nowMs: number): string {
  const time = new Date(iso);
  const isToday = time.toDateString() === new Date(nowMs).toDateString();
  return new Intl.DateTimeFormat('en-GB', {
    ...(!isToday && { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    minute: '2-digit',
  }).format(time);
}

const noForecast: Readonly<Record<NonNullable<ForecastBody['reason']>, string>> = {
  unlimited: 'no limit',
  'not-scanned': 'not scanned yet',
  'too-few-days': 'not enough data for a forecast',
  'not-growing': 'not filling up',
  'beyond-two-years': 'not full within two years',
};

export function forecastNote({ fullOn, reason }: ForecastBody): string {
  if (fullOn !== null) return `full on ${dayText(fullOn)} at this pace`;
  return reason === null ? '' : noForecast[reason];
}

export const scopeText = {
  read: 'read',
  write: 'read and write',
  gc: 'read, write, gc',
  manage: 'manage',
} as const;

/** What people call a token. Who came by an invitation or a link says more than its id, which is the token's label. */
export const tokenName = ({ label, user, tokenId }: Pick<SessionBody, 'label' | 'user' | 'tokenId'>) =>
  (/^(invitation|console link) /.test(label ?? '') && user) ||
  (label ?? user ?? `token ${tokenId?.slice(0, 4)}…`);

/** Who has signed in, in a few words. */
export function whoText(session: SessionBody): string {
  if (session.kind === 'operator') return 'operator';
  return `${tokenName(session)} · ${scopeText[session.scope ?? 'read']}`;
}

/**
 * The token in what was pasted: itself, `user:token@host`, or a URL with a token in it. Without what a header can't
 * contain.
 */
export function tokenIn(pasted: string): string {
  const text = pasted.trim();
  const inUrl = /^(?:https?:\/\/)?[^\s/@]*?:([^\s/@]+)@/.exec(text) ?? /^https?:\/\/([^\s/:@]+)@/.exec(text);
  return (inUrl?.[1] ?? text).replace(/[^!-~]/g, '');
}

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
