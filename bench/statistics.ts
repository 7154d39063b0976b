/** The median. NaN if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** The median of one figure of each sample. */
export function medianOf<Sample>(samples: readonly Sample[], figure: (sample: Sample) => number): number {
  return median(samples.map(figure));
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

/** A time or a ratio with the digits that matter in a table. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3);
}
