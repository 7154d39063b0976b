/**
 * The order of a round: each begins with the next server, so that over the rounds none always goes first.
 *
 * @param round counted from 0.
 */
export function orderOfRound<Item>(items: readonly Item[], round: number): Item[] {
  if (items.length === 0) return [];
  const first = round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
