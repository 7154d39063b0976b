import { formatCount } from '../render.ts';

/** `$1.23`; of less than a cent `less than $0.01`. */
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

/** `1 request`, `1,204 requests`. */
export function formatRequests(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'request' : 'requests'}`;
}

/** A command line that a shell reads as these words. */
export function shellWords(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}
