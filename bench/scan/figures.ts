import { formatNumber, formatTable } from '../../cost/tables.ts';
import type { Measured } from './measured.ts';

/** A figure that the scan should reach. `of` finds it in a run: undefined if it was not measured. */
interface Figure {
  readonly what: string;
  readonly limit: { readonly atLeast: number } | { readonly atMost: number };
  readonly of: (run: Run) => number | undefined;
}

class Run {
  readonly #measured: readonly Measured[];

  constructor(measured: readonly Measured[]) {
    this.#measured = measured;
  }

  find(condition: string, subject: string, keys: number): Measured | undefined {
    return this.#measured.find(
      (row) => row.condition === condition && row.subject === subject && row.keys === keys,
    );
  }

  ratio(input: {
    of: 'wallMs' | 'cpuMs';
    condition: string;
    keys: number;
    slow: string;
    fast: string;
  }): number | undefined {
    const slow = this.find(input.condition, input.slow, input.keys)?.[input.of];
    const fast = this.find(input.condition, input.fast, input.keys)?.[input.of];
    return slow !== undefined && fast !== undefined ? slow / fast : undefined;
  }
}

const cpu = [100_000, 1_000_000].map(
  (keys): Figure => ({
    what: `× less CPU, hinted, ${formatNumber(keys)} keys`,
    limit: { atLeast: 9 },
    of: (run) => run.ratio({ of: 'cpuMs', condition: 'no latency', keys, slow: 'sdk', fast: 'hint' }),
  }),
);

const requestsMax: readonly (readonly [subject: string, keys: number, requests: number])[] = [
  ['hint', 1000, 1],
  ['hint', 4000, 6],
  ['hint', 16_000, 18],
  ['hint', 17_000, 19],
  ['hint', 100_000, 106],
  ['hint', 1_000_000, 1030],
  ['probe', 1000, 1],
  ['probe', 4000, 7],
  ['probe', 16_000, 19],
  ['probe', 17_000, 20],
  ['probe', 100_000, 112],
  ['sixteen', 100, 16],
  ['sixteen', 4000, 16],
  ['sixteen', 16_000, 36],
  ['sixteen', 17_000, 37],
  ['sixteen', 100_000, 120],
];
const requests = requestsMax.map(
  ([subject, keys, atMost]): Figure => ({
    what: `requests, ${subject}, ${formatNumber(keys)} keys`,
    limit: { atMost },
    of: (run) => run.find('100 ms', subject, keys)?.requests,
  }),
);

const rounds = [4000, 16_000, 17_000, 100_000].map(
  (keys): Figure => ({
    what: `rounds, sixteen, ${formatNumber(keys)} keys`,
    limit: { atMost: keys <= 15_000 ? 1 : 2 },
    of: (run) => run.find('100 ms', 'sixteen', keys)?.rounds,
  }),
);

const wallsMin: readonly (readonly [keys: number, slow: string, atLeast: number])[] = [
  [17_000, 'sdk', 12],
  [100_000, 'sdk', 33],
  [1_000_000, 'sdk', 49],
  [1_000_000, 'sdk-16', 3.7],
  [1_000_000, 'fixed-16', 3.7],
];
const walls = wallsMin.map(
  ([keys, slow, atLeast]): Figure => ({
    what: `× faster than ${slow} at 100 ms, hinted, ${formatNumber(keys)} keys`,
    limit: { atLeast },
    of: (run) => run.ratio({ of: 'wallMs', condition: '100 ms', keys, slow, fast: 'hint' }),
  }),
);

const oneRound: Figure = {
  what: 'latencies of 100 ms, hinted, 4,000 keys',
  limit: { atMost: 1.3 },
  of: (run) => {
    const wallMs = run.find('100 ms', 'hint', 4000)?.wallMs;
    return wallMs && wallMs / 100;
  },
};

const cold = ['probe', 'hint', 'probe, warmed up', 'sixteen, warmed up', 'hint, warmed up'].map(
  (fast): Figure => ({
    what: `× faster with 0.145 of a core, cold, ${fast}, 4,000 keys`,
    limit: { atLeast: 6.5 },
    of: (run) => run.ratio({ of: 'wallMs', condition: '0.145 core', keys: 4000, slow: 'sdk', fast }),
  }),
);

/** The table of figures. Each compares with the SDK's paginator, or with another subject, of the same run. */
export function checkFigures(measured: readonly Measured[]): string {
  const run = new Run(measured);
  const rows = [...cpu, ...requests, ...rounds, oneRound, ...walls, ...cold].flatMap(
    ({ what, limit, of }) => {
      const value = of(run);
      if (value === undefined) return [];
      const isReached = 'atLeast' in limit ? value >= limit.atLeast : value <= limit.atMost;
      const reach = 'atLeast' in limit ? `≥ ${limit.atLeast}` : `≤ ${limit.atMost}`;
      return [[what, reach, formatNumber(value), isReached ? 'reached' : 'NOT reached']];
    },
  );
  return `Figures of this run\n${formatTable(['figure', 'to reach', 'measured', ''], rows)}\n`;
}
