import type { Deps } from '../../deps.ts';
import { lockPageMax } from '../../extras/rules/lock.ts';

/**
 * Removes the locks of a repo, or of a whole tenant, once nobody can take one any more: it is closed, and whoever saw it
 * open has ended.
 *
 * @param input.untilMs no others are begun after this.
 * @returns false if the time was up first.
 * @throws {LedgerUnavailableError}
 */
export async function removeLocks(
  { locks, clock }: Pick<Deps, 'locks' | 'clock'>,
  input: { tenant: string; repo?: string; untilMs: number },
): Promise<boolean> {
  const { untilMs, ...path } = input;
  for (;;) {
    const { hasMore } = await locks.releaseSome({ ...path, locksMax: lockPageMax });
    if (!hasMore) return true;
    if (clock.nowMs() > untilMs) return false;
  }
}
