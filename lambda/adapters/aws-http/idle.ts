/**
 * Longest time that a connection waits for its next request. S3 closes it after 5 to 20 seconds, and a frozen process
 * does not hear of that. A request on a closed connection fails, and not all may be sent again. The price: a function
 * with less than a request in this time opens a new connection for each.
 */
export const idleMsMax = 4_000;

/**
 * For a connection that is idle from now on.
 *
 * @returns whether a request may still be sent on it, by the clock of the process and by that of the day: one may stand
 * still.
 */
export function freshFor(idleMs: number): () => boolean {
  const [atMs, atDateMs] = [performance.now() + idleMs, Date.now() + idleMs];
  return () => performance.now() < atMs && Date.now() < atDateMs;
}
