import { median } from '../statistics.ts';
import type { LatencyMode } from './options.ts';
import type { Phase, Sample } from './sample.ts';

/** All rounds of one phase with one server. */
export interface MeasuredPhase {
  readonly case: string;
  readonly latency: LatencyMode;
  readonly phase: Phase;
  readonly server: string;
  readonly rounds: readonly Sample[];
}

/** Medians of the rounds. */
export interface PhaseSummary extends Omit<MeasuredPhase, 'rounds'> {
  readonly wallMs: number;
  /** Each round, in the order of measuring. */
  readonly wallMsOfRounds: readonly number[];
  readonly serverCpuMs: number;
  readonly storeCpuMs: number;
  /** Beside the bound of the same case, latency and phase; undefined where that was not measured. */
  readonly timesWall: number | undefined;
  readonly timesCpu: number | undefined;
  readonly api: Readonly<Record<string, number>>;
  readonly store: Readonly<Record<string, number>>;
  readonly queueSends: number;
  readonly storeDollars: number;
  readonly apiDollars: number | undefined;
  /** Requests that were answered with an error, in all rounds. A healthy run has none. */
  readonly failures: number;
}

/** @param bound the server that the others are compared with. */
export function summarize(measured: readonly MeasuredPhase[], bound: string): PhaseSummary[] {
  return measured.map((row) => {
    const base = measured.find((other) => other.server === bound && isSamePlace(row, other));
    const ratio = (value: (sample: Sample) => number) => base && medianOf(row, value) / medianOf(base, value);
    const { rounds, ...place } = row;
    return {
      ...place,
      wallMs: medianOf(row, ({ wallMs }) => wallMs),
      wallMsOfRounds: rounds.map(({ wallMs }) => wallMs),
      serverCpuMs: medianOf(row, ({ serverCpuMs }) => serverCpuMs),
      storeCpuMs: medianOf(row, ({ storeCpuMs }) => storeCpuMs),
      timesWall: ratio(({ wallMs }) => wallMs),
      timesCpu: ratio(({ serverCpuMs }) => serverCpuMs),
      api: medianCounts(rounds.map(({ api }) => api.counts)),
      store: medianCounts(rounds.map(({ store }) => store.counts)),
      queueSends: medianOf(row, ({ queueSends }) => queueSends),
      storeDollars: medianOf(row, ({ storeDollars }) => storeDollars),
      apiDollars: rounds.some(({ apiDollars }) => apiDollars === undefined)
        ? undefined
        : medianOf(row, ({ apiDollars = Number.NaN }) => apiDollars),
      failures: rounds.reduce((sum, { api, store }) => sum + api.failures + store.failures, 0),
    };
  });
}

function isSamePlace(a: MeasuredPhase, b: MeasuredPhase): boolean {
  return a.case === b.case && a.latency === b.latency && a.phase === b.phase;
}

function medianOf({ rounds }: MeasuredPhase, value: (sample: Sample) => number): number {
  return median(rounds.map(value));
}

function medianCounts(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const kinds = Object.keys(counts[0] ?? {});
  return Object.fromEntries(kinds.map((kind) => [kind, median(counts.map((each) => each[kind] ?? 0))]));
}
