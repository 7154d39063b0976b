/** Sizes as people write and read them. Every size is a whole number of bytes up to 2^53 − 1. */

const units: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1000,
  mb: 1000 ** 2,
  gb: 1000 ** 3,
  tb: 1000 ** 4,
  pb: 1000 ** 5,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
  pib: 1024 ** 5,
};

/**
 * Parses a size such as `1GiB`, `1.5 GB` or `500000 B`. Only 0 needs no unit: 10 might be 10 B or 10 GiB.
 *
 * @returns whole bytes, or a problem to show.
 */
export function parseSize(text: string): { readonly bytes: number } | { readonly problem: string } {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text.trim()) ?? [];
  if (digits !== undefined && unit === '' && Number(digits) > 0)
    return { problem: `"${digits}" has no unit. Did you mean ${digits}GiB?` };
  const bytes = Math.round(Number(digits) * (units[unit?.toLowerCase() || 'b'] ?? Number.NaN));
  if (Number.isSafeInteger(bytes)) return { bytes };
  return { problem: 'Use a size below 8 PiB, such as 500MB, 1GiB or 1.5TiB.' };
}

/** Formats a size in binary units with at most two decimals: `1.5 GiB`, `17 B`. */
export function formatBytes(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let index = 0;
  while (Math.abs(value) >= 1024 && index < names.length - 1) {
    value /= 1024;
    index += 1;
  }
  return `${Number(value.toFixed(2))} ${names[index]}`;
}

/**
 * A share with one decimal: `46.5%`. `100%` is only what is exactly full, a limit of nothing too, and `0%` only
 * nothing: what is rounded stays between, or above.
 */
export function formatPercent(part: number, whole: number): string {
  if (part === whole) return '100%';
  if (part === 0) return '0%';
  // Of nothing it is infinite.
  const percent = (part / whole) * 100;
  if (percent === Number.POSITIVE_INFINITY) return 'over 100%';
  const bounded = part < whole ? Math.min(99.9, Math.max(0.1, percent)) : Math.max(100.1, percent);
  return `${bounded.toFixed(1)}%`;
}

/** True for a size in bytes: a whole number from 0 to 2^53 − 1, up to which numbers are exact. */
export function isByteCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
