import { formatBytes } from '../lambda/domain/bytes.ts';

/** Words for a terminal: ages, sizes, counts. */

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

/** `1,204 objects`, `1 object`. */
export function formatObjects(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'object' : 'objects'}`;
}

/** A whole number with a comma between thousands: `1,204`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}
