import { formatNumber, formatTable } from '../../cost/tables.ts';
import type { PhaseSummary } from './summary.ts';

const header = [
  '',
  's',
  '× bound',
  'CPU s',
  '× bound',
  'store CPU s',
  'batch',
  '401',
  'verify',
  'other',
  'PUT',
  'GET',
  'own HEAD',
  'own LIST',
  'own other',
  'queue',
  'µ$ store',
  'µ$ API',
  'rounds, s',
];

/** One table for each case, latency and phase: a line for each server. */
export function formatSummaries(summaries: readonly PhaseSummary[]): string {
  const titles = [...new Set(summaries.map(titleOf))];
  return titles
    .map((title) => {
      const rows = summaries.filter((row) => titleOf(row) === title);
      return `${title}\n${formatTable(header, rows.map(cellsOf))}`;
    })
    .join('\n\n');
}

/** What went wrong in a run that is printed all the same. */
export function formatFailures(summaries: readonly PhaseSummary[]): string[] {
  return summaries
    .filter(({ failures }) => failures > 0)
    .map((row) => `${titleOf(row)}, ${row.server}: ${row.failures} requests were answered with an error.`);
}

function titleOf({ case: name, latency, phase }: PhaseSummary): string {
  return `${name}, ${latency === 'on' ? 'with latency' : 'no latency'}: ${phase}`;
}

function cellsOf(row: PhaseSummary): string[] {
  const { api, store } = row;
  const counts = [
    api['batch'],
    api['unauthorized'],
    api['verify'],
    sum(api, ['locks', 'transfer', 'other']),
    store['clientPut'],
    store['clientGet'],
    store['serverHead'],
    store['serverList'],
    sum(store, ['serverPut', 'serverGet', 'serverDelete']),
    row.queueSends,
  ];
  return [
    row.server,
    seconds(row.wallMs),
    times(row.timesWall),
    seconds(row.serverCpuMs),
    times(row.timesCpu),
    seconds(row.storeCpuMs),
    ...counts.map(formatNumber),
    micros(row.storeDollars),
    micros(row.apiDollars),
    row.wallMsOfRounds.map(seconds).join(' '),
  ];
}

const sum = (counts: Readonly<Record<string, number>>, kinds: readonly string[]) =>
  kinds.reduce((total, kind) => total + (counts[kind] ?? 0), 0);
const seconds = (ms: number) => (ms / 1000).toFixed(2);
const times = (ratio: number | undefined) =>
  ratio === undefined || !Number.isFinite(ratio) ? '–' : ratio.toFixed(2);
const micros = (dollars: number | undefined) => formatNumber(dollars && dollars * 1e6);
