/**
 * How a scan begins, and whether it cuts into parts what its first pages leave.
 *
 * - `hint`: the number of objects is roughly known. All parts at once, each expected to end within its pages.
 * - `probe`: one page, which gives an estimate, then as with a hint. Of those that list in parallel, it needs the fewest
 *   requests, whatever the names are.
 * - `sixteen`: one part for each of the 16 hex digits at once, then all the rest at once. Needs the fewest rounds if
 *   nothing is known.
 * - `fixed-sixteen`: one part for each of the 16 hex digits at once, each listed page by page.
 * - `sequential`: page by page, exactly as many requests as pages. Correct even if the store does not list names in order.
 */
export type ScanStrategy =
  | { readonly kind: 'hint'; readonly objects: number }
  | { readonly kind: 'probe' | 'sixteen' | 'fixed-sixteen' | 'sequential' };

/**
 * The strategy for a scan.
 *
 * @param input.hintObjects the number of objects that the last scan found.
 * @param input.isAwaited somebody waits for the result.
 */
export function chooseStrategy(input: { hintObjects?: number; isAwaited?: boolean }): ScanStrategy {
  if (input.hintObjects !== undefined) return { kind: 'hint', objects: input.hintObjects };
  return { kind: input.isAwaited ? 'sixteen' : 'probe' };
}
