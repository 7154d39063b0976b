import { readFileSync } from 'node:fs';
import type { PhaseSummary } from './summary.ts';

/**
 * The summaries of an earlier run, from its JSON.
 *
 * @throws {Error} if the file is none of this benchmark.
 */
export function readEarlier(file: string): PhaseSummary[] {
  const { result } = JSON.parse(readFileSync(file, 'utf8')) as { result?: { summaries?: PhaseSummary[] } };
  const { summaries } = result ?? {};
  if (!Array.isArray(summaries) || summaries.some((row) => !Array.isArray(row.wallMsOfRounds)))
    throw new Error(`${file} is no result of \`npm run bench -- push\`: it has no summaries.`);
  return summaries;
}

/** Both runs together. A case with a latency is of one run alone, the newer one: its servers took turns. */
export function addToEarlier(
  earlier: readonly PhaseSummary[],
  newer: readonly PhaseSummary[],
): PhaseSummary[] {
  const isMeasuredAnew = (row: PhaseSummary) =>
    newer.some((each) => each.case === row.case && each.latency === row.latency);
  return [...earlier.filter((row) => !isMeasuredAnew(row)), ...newer];
}
