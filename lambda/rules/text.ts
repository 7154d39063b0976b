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

/** Days and months in UTC, as text that sorts by time. */

export const dayMs = 86_400_000;

/** `2026-11-21`. */
export const dayOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

/** `2026-11`. */
export const monthOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 7);

/** The first moment of the month after. */
export function nextMonthMs(timeMs: number): number {
  const date = new Date(timeMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The first moment of the day after. */
export function dayAfterMs(timeMs: number): number {
  const date = new Date(timeMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1);
}

/** Whether a text of the form `2026-11-21` is a day that there is. */
export function isDay(text: string): boolean {
  const timeMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(timeMs) && dayOf(timeMs) === text;
}

/** The first moment of a day such as `2026-11-21`. */
export const startOfDayMs = (day: string): number => Date.parse(`${day}T00:00:00Z`);

/** The day so many days later. @param count negative: earlier. */
export const dayAfter = (day: string, count = 1): string => dayOf(startOfDayMs(day) + count * dayMs);

/** How many days `to` is after `from`. */
export const daysBetween = (from: string, to: string): number =>
  Math.round((startOfDayMs(to) - startOfDayMs(from)) / dayMs);

/**
 * Controls, bidi marks, halves of surrogate pairs, private and unassigned characters: a terminal or a page that shows them
 * shows something else. Persian, Hindi and emoji need the two joiners.
 */
const hidden = /(?!\u200c|\u200d)[\p{C}\u2028\u2029]/u;
/** Marked as pure, so that a bundle which doesn't use it, such as the console's page, leaves it out. */
const eachHidden = /* @__PURE__ */ new RegExp(hidden, 'gu');

/** Whether a text has no character that hides or moves others. */
export function isPlainText(text: string): boolean {
  return !hidden.test(text);
}

/** A text without them, to be shown: an older version took them. */
export function plainText(text: string): string {
  return text.replace(eachHidden, '');
}

/** A text without tokens, signatures, and credentials: for a log line, or what is kept of a request. */
export function redactText(text: string): string {
  return (
    text
      .replace(/\b(lfs[qsv]_)[A-Za-z0-9]{8,}/g, '$1…')
      .replace(/\b(whsec_)[A-Za-z0-9+/=]{8,}/g, '$1…')
      .replace(/\?[^\s"']*X-Amz-Signature=[^\s"']*/gi, '?…')
      .replace(/\b(Basic|Bearer) [A-Za-z0-9+/=._~-]{8,}/gi, '$1 …')
      // What a service quotes of a request that it refuses.
      .replace(/\b((?:Credential|Signature)=|X-Amz-Security-Token[=:] ?)[^\s"'&,<]+/gi, '$1…')
  );
}

const causesMax = 5;

/** Names and messages of an error and its causes, the outermost first: `A: text < B: text`. At most 5 of them. */
export function errorChain(error: unknown): string {
  return chainOf(error)
    .map((cause) => (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)))
    .join(' < ');
}

/** The line of the stack trace at which the innermost cause was thrown. */
export function thrownAt(error: unknown): string | undefined {
  const innermost = chainOf(error).findLast((cause) => cause instanceof Error);
  return innermost?.stack
    ?.split('\n')
    .find((line) => /^\s+at /.test(line))
    ?.trim();
}

function chainOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause !== undefined && causes.length < causesMax; ) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}

/** Whether a JSON value has, however deep, a field `__proto__`. Schemas drop it without a word. */
export function hasPrototypeField(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (Object.hasOwn(next, '__proto__')) return true;
    for (const inner of Object.values(next)) left.push(inner);
  }
  return false;
}

/** The value of a JSON text. undefined if the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
