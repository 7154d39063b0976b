/** Sizes as people write and read them. Every size is a whole number of bytes up to 2^53 − 1. */

const units: Readonly<Record<string, number>> = {
  '': 1,
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
 * Parses a size such as `1GiB`, `1.5 GB`, `500000` or `10MiB`.
 *
 * @returns whole bytes, or undefined if the text is not a size or is beyond 2^53 − 1.
 */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text.trim());
  if (!match) return undefined;
  const unit = units[(match[2] ?? '').toLowerCase()] ?? Number.NaN;
  const bytes = Math.round(Number(match[1]) * unit);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
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
