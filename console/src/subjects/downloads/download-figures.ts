import { dayMs } from '../../../../lambda/core/rules/dates.ts';
import type { DownloadPageBody } from '../../../../lambda/subjects/downloads/contract.ts';
import { sortBy } from '../../figures.ts';

export type Download = DownloadPageBody['downloads'][number];

export type DownloadMonth = DownloadPageBody['month'];

export interface Sum {
  readonly key: string;
  readonly bytes: number;
}

/** Of each day, from the first to the last, also of those on which nothing was offered. */
export function sumsByDay(downloads: readonly Download[], days: readonly string[]): Sum[] {
  const sums = sumsOf(downloads, ({ day }) => day);
  return days.map((key) => ({ key, bytes: sums.get(key) ?? 0 }));
}

/** The largest first, without those of which nothing was offered. */
export function largestBy(downloads: readonly Download[], of: 'repo' | 'tokenId'): Sum[] {
  const sums = [...sumsOf(downloads, (download) => download[of])].filter(([, bytes]) => bytes !== 0);
  return sortBy(sums, ([key, bytes]) => [-bytes, key]).map(([key, bytes]) => ({ key, bytes }));
}

function sumsOf(downloads: readonly Download[], keyOf: (download: Download) => string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const download of downloads) {
    const key = keyOf(download);
    sums.set(key, (sums.get(key) ?? 0) + download.bytes);
  }
  return sums;
}

/** At the end of the month, if it goes on as on the days that are known. Today isn't over, so it doesn't count. */
export function expectedBytes(month: DownloadMonth, byDay: readonly Sum[], nowMs: number): number {
  const days = byDay.slice(0, -1);
  const perDay = days.reduce((sum, { bytes }) => sum + bytes, 0) / Math.max(1, days.length);
  return month.bytes + Math.round((perDay * Math.max(0, Date.parse(month.resetsAt) - nowMs)) / dayMs);
}
