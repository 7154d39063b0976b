/**
 * How a scan begins, and whether it cuts what its first pages leave.
 *
 * - `hint`: the number of objects is about known; all ranges at once, each expected to end within its pages.
 * - `probe`: one page, which tells how many there are; then as with a hint. Fewest requests.
 * - `sixteen`: the 16 hex digits at once, then all the rest at once. Fewest rounds where nothing is known.
 * - `fixed-sixteen`: the 16 hex digits at once, each listed page after page.
 * - `sequential`: page after page. Right even where names are not listed in order.
 */
export type ScanStrategy =
  | { readonly kind: 'hint'; readonly objects: number }
  | { readonly kind: 'probe' | 'sixteen' | 'fixed-sixteen' | 'sequential' };

/** The strategy for what is known and who waits. */
export function chooseStrategy(input: { hintObjects?: number; isAwaited?: boolean }): ScanStrategy {
  if (input.hintObjects !== undefined) return { kind: 'hint', objects: input.hintObjects };
  return { kind: input.isAwaited ? 'sixteen' : 'probe' };
}
