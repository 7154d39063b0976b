import { formatNumber, formatTable } from '../tables.ts';
import type { Measured } from './bench-scan.ts';

interface Figure {
  readonly what: string;
  readonly reach: string;
  readonly value: number | undefined;
  readonly isReached: boolean;
}

/** The figures that the scan is to reach, against the SDK's sequential paginator of the same run. */
export function checkFigures(measured: readonly Measured[]): string {
  const find = (condition: string, subject: string, keys: number) =>
    measured.find((row) => row.condition === condition && row.subject === subject && row.keys === keys);
  const figures: Figure[] = [];
  const add = (what: string, value: number | undefined, limit: { atLeast?: number; atMost?: number }) => {
    const { atLeast, atMost } = limit;
    const isReached = value !== undefined && value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
    const reach = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
    if (value !== undefined) figures.push({ what, reach, value, isReached });
  };
  const ratio = (of: 'wallMs' | 'cpuMs', condition: string, keys: number, [slow, fast]: [string, string]) => {
    const base = find(condition, slow, keys)?.[of];
    const own = find(condition, fast, keys)?.[of];
    return base !== undefined && own !== undefined ? base / own : undefined;
  };
  const requests = (subject: string, keys: number) => find('100 ms', subject, keys)?.requests;
  const rounds = (subject: string, keys: number) => find('100 ms', subject, keys)?.rounds;

  add('× less CPU per key, 100,000 keys, hinted', ratio('cpuMs', 'no latency', 100_000, ['sdk', 'hint']), {
    atLeast: 9,
  });
  add(
    '× less CPU per key, 1,000,000 keys, hinted',
    ratio('cpuMs', 'no latency', 1_000_000, ['sdk', 'hint']),
    { atLeast: 9 },
  );
  for (const [keys, most] of [
    [1000, 1],
    [4000, 6],
    [16_000, 18],
    [17_000, 19],
    [100_000, 106],
    [1_000_000, 1030],
  ] as const) {
    add(`requests, hinted, ${formatNumber(keys)} keys`, requests('hint', keys), { atMost: most });
  }
  for (const [keys, most] of [
    [1000, 1],
    [4000, 7],
    [16_000, 19],
    [17_000, 20],
    [100_000, 112],
  ] as const) {
    add(`requests, probing, ${formatNumber(keys)} keys`, requests('probe', keys), { atMost: most });
  }
  for (const [keys, most, mostRounds] of [
    [100, 16, 1],
    [4000, 16, 1],
    [16_000, 36, 2],
    [17_000, 37, 2],
    [100_000, 120, 2],
  ] as const) {
    add(`requests, 16 at once, ${formatNumber(keys)} keys`, requests('sixteen', keys), { atMost: most });
    add(`rounds, 16 at once, ${formatNumber(keys)} keys`, rounds('sixteen', keys), { atMost: mostRounds });
  }
  const hinted = find('100 ms', 'hint', 4000)?.wallMs;
  add('latencies of 100 ms, hinted, 4,000 keys', hinted && hinted / 100, { atMost: 1.3 });
  for (const [keys, least] of [
    [17_000, 12],
    [100_000, 33],
    [1_000_000, 49],
  ] as const) {
    add(
      `× faster at 100 ms, hinted, ${formatNumber(keys)} keys`,
      ratio('wallMs', '100 ms', keys, ['sdk', 'hint']),
      { atLeast: least },
    );
  }
  add(
    '× faster than 16 prefixes by the SDK, 1,000,000 keys',
    ratio('wallMs', '100 ms', 1_000_000, ['sdk-16', 'hint']),
    { atLeast: 3.7 },
  );
  add(
    '× faster than 16 prefixes by our reader, 1,000,000 keys',
    ratio('wallMs', '100 ms', 1_000_000, ['fixed-16', 'hint']),
    { atLeast: 3.7 },
  );
  for (const kind of ['probe', 'sixteen'] as const) {
    add(
      `× faster with 0.145 of a core, 4,000 keys, ${kind}`,
      ratio('wallMs', '0.145 core', 4000, ['sdk', kind]),
      { atLeast: 6.5 },
    );
  }
  const rows = figures.map(({ what, reach, value, isReached }) => [
    what,
    reach,
    formatNumber(value),
    isReached ? 'reached' : 'NOT reached',
  ]);
  return `Figures of this run\n${formatTable(['figure', 'to reach', 'measured', ''], rows)}\n`;
}
