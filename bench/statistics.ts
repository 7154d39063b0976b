import { parseArgs } from 'node:util';
import { formatTable } from '../cost/command.ts';

/** The median. NaN if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/**
 * The median of the ratios of two series that were measured in turns: what slows the machine down in a round slows down
 * both. Rounds that only one of them has are left out.
 */
export function medianRatio(values: readonly number[], bases: readonly number[]): number {
  return median(values.slice(0, bases.length).map((value, round) => value / (bases[round] ?? Number.NaN)));
}

/** The items in the order of a round, counted from 0: each round starts with the next one, so none always goes first. */
export function orderOfRound<Item>(items: readonly Item[], round: number): Item[] {
  const first = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

/** A figure with the digits that matter in a table. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value) || value >= 1000) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3);
}

/**
 * A column of a table: the median of a figure, its median ratio to the base's, its maximum, all of its values, or mean, standard
 * deviation, least and most.
 */
export type Column<Sample> = readonly [
  heading: string,
  figure: (sample: Sample) => number,
  shown?: 'median' | 'ratio' | 'max' | 'all' | 'spread',
];

interface Row<Sample> {
  readonly name: string;
  readonly samples: readonly Sample[];
  /** What was measured in turns with it. */
  readonly base?: readonly Sample[] | undefined;
}

/** A table of what was measured: a row for each thing that took part, without those that have no samples. */
export function tableOf<Sample>(columns: readonly Column<Sample>[], rows: readonly Row<Sample>[]): string {
  const cells = rows.map(({ name, samples, base = [] }) => [
    name,
    ...columns.map(([, figure, shown = 'median']) => {
      const values = samples.map(figure);
      if (shown === 'all') return values.map(digits).join(' ');
      if (shown === 'spread') return spreadOf(values);
      if (shown === 'ratio') return digits(medianRatio(values, base.map(figure)));
      return digits(shown === 'max' ? Math.max(...values) : median(values));
    }),
  ]);
  return formatTable(['', ...columns.map(([heading]) => heading)], cells);
}

/** Mean, standard deviation of a sample, least and most. */
function spreadOf(values: readonly number[]): string {
  const sum = (of: (value: number) => number) => values.reduce((total, value) => total + of(value), 0);
  const mean = sum((value) => value) / values.length;
  const deviation = Math.sqrt(sum((value) => (value - mean) ** 2) / (values.length - 1));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${digits(mean)} ± ${digits(deviation)} (${digits(least)}–${digits(most)})`;
}

/** The options of a benchmark, as texts. @throws {TypeError} for one that it doesn't have. */
export function optionsOf<Defaults extends Readonly<Record<string, string>>>(
  args: readonly string[],
  defaults: Defaults,
): { readonly [Name in keyof Defaults]: string } {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, { type: 'string' as const, default: value }]),
  );
  return parseArgs({ args: [...args], options }).values as Defaults;
}

/** `1000,4000` as numbers. */
export const numbersOf = (text: string) => text.split(',').map(Number);
