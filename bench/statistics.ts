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
function orderOfRound<Item>(items: readonly Item[], round: number): Item[] {
  const first = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

/** A figure with the digits that matter in a table. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value) || value >= 1000) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3);
}

/** A column of a table: the median of a figure, with its least and most, its median ratio to the base's, or its maximum. */
export type Column<Sample> = readonly [
  heading: string,
  figure: (sample: Sample) => number,
  shown?: 'median' | 'range' | 'ratio' | 'max',
];

interface Row<Sample> {
  readonly name: string;
  readonly samples: readonly Sample[];
  /** What was measured in turns with it. */
  readonly base?: readonly Sample[] | undefined;
}

/** Measures things by turns, so that all meet the same machine. @param items with the name of the one that each is compared to. */
export async function inTurns<Item extends { readonly name: string; readonly base: string }, Sample>(
  items: readonly Item[],
  rounds: number,
  measure: (item: Item, round: number) => Promise<readonly Sample[]>,
): Promise<Row<Sample>[]> {
  const taken = new Map(items.map(({ name }) => [name, [] as Sample[]]));
  for (let round = 0; round < rounds; round += 1)
    for (const item of orderOfRound(items, round))
      taken.get(item.name)?.push(...(await measure(item, round)));
  return items.map(({ name, base }) => ({ name, samples: taken.get(name) ?? [], base: taken.get(base) }));
}

/** A table of what was measured: a row for each thing that took part. */
export function tableOf<Sample>(columns: readonly Column<Sample>[], rows: readonly Row<Sample>[]): string {
  const cells = rows.map(({ name, samples, base = [] }) => [
    name,
    ...columns.map(([, figure, shown = 'median']) => {
      const values = samples.map(figure);
      if (shown === 'ratio') return digits(medianRatio(values, base.map(figure)));
      if (shown === 'max') return digits(Math.max(...values));
      const [least, most] = [Math.min(...values), Math.max(...values)].map(digits);
      return digits(median(values)) + (shown === 'range' && least !== most ? ` (${least}–${most})` : '');
    }),
  ]);
  return formatTable(['', ...columns.map(([heading]) => heading)], cells);
}

/** The options of a benchmark, as texts. @throws {TypeError} for one that it doesn't have, with those that it has. */
export function optionsOf<Defaults extends Readonly<Record<string, string>>>(
  args: readonly string[],
  defaults: Defaults,
): { readonly [Name in keyof Defaults]: string } {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, { type: 'string' as const, default: value }]),
  );
  try {
    return parseArgs({ args: [...args], options }).values as Defaults;
  } catch (cause) {
    const all = Object.entries(defaults).map(([name, value]) => `--${name}=${value}`);
    throw new TypeError(`These are the options, with their defaults: ${all.join(' ')}`, { cause });
  }
}

/** `1000,4000` as numbers. */
export const numbersOf = (text: string) => text.split(',').map(Number);
