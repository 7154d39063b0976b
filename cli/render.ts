import { formatBytes } from '../lambda/core/rules/sizes.ts';
import type { ForecastBody } from '../lambda/frame/contract/outlook.ts';

/** About how long ago: `just now`, `12 s ago`, `3 h ago`. Text that is no date is returned as it is. */
export function formatAge(isoDate: string, nowMs: number): string {
  const seconds = Math.floor((nowMs - Date.parse(isoDate)) / 1000);
  if (Number.isNaN(seconds)) return isoDate;
  if (seconds < 1) return 'just now';
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} days ago`;
}

/** About when: `now`, `in 12 s`, `in 60 min`. Text that is no date is returned as it is. */
export function formatUntil(isoDate: string, nowMs: number): string {
  const seconds = Math.ceil((Date.parse(isoDate) - nowMs) / 1000);
  if (Number.isNaN(seconds)) return isoDate;
  if (seconds <= 0) return 'now';
  if (seconds < 120) return `in ${seconds} s`;
  if (seconds < 2 * 3600) return `in ${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `in ${Math.round(seconds / 3600)} h`;
  return `in ${Math.round(seconds / 86_400)} days`;
}

/** A limit in bytes; null is unlimited. */
export function formatLimit(limitBytes: number | null): string {
  return limitBytes === null ? 'unlimited' : formatBytes(limitBytes);
}

/** `1,204 files`, `1 file`. */
export const formatCounted = (count: number, one: string, many = `${one}s`) =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

export const formatObjects = (count: number) => formatCounted(count, 'object');
export const formatRequests = (count: number) => formatCounted(count, 'request');

/** `1,204 objects, 1.5 GiB`. */
export const formatSum = ({ objectCount, bytes }: { objectCount: number; bytes: number }) =>
  `${formatObjects(objectCount)}, ${formatBytes(bytes)}`;

/** The first lines, and how many others there are. @param hint how to see these. */
export function firstLines(lines: readonly string[], max: number, hint = ''): readonly string[] {
  const others = lines.length - max;
  return others > 0 ? [...lines.slice(0, max), `… and ${formatCount(others)} more${hint}`] : lines;
}

/** A whole number with a comma between thousands: `1,204`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `$1.23`; of less than a cent 'less than $0.01'. */
export function formatDollars(dollars: number): string {
  if (dollars > 0 && dollars < 0.01) return 'less than $0.01';
  return `$${dollars.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** `12 s`, `34 min`, `5.2 h`, `3.1 days`. */
export function formatDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86_400).toFixed(1)} days`;
}

/** A command line that a shell reads as these words. */
export function shellWords(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

const reasons: Readonly<Record<NonNullable<ForecastBody['reason']>, string>> = {
  unlimited: 'never: unlimited',
  'not-scanned': 'unknown: not scanned yet',
  'too-few-days': 'unknown: too few days of data',
  'not-growing': "not in sight: it doesn't grow",
  'beyond-two-years': 'in more than two years',
};

/** When a tenant is full, as the server says it. */
export function forecastText({ fullOn, reason, bytesPerDay }: ForecastBody): string {
  const growth =
    bytesPerDay === null || bytesPerDay <= 0 ? '' : `, growing by ${formatBytes(bytesPerDay)} a day`;
  if (fullOn === null)
    return reason === null ? 'unknown' : reasons[reason] + (reason === 'beyond-two-years' ? growth : '');
  return `on ${fullOn}${growth}`;
}
