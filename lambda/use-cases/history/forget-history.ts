import type { Deps } from '../../deps.ts';

/** Days that one request removes. */
const daysAtOnce = 100;

/**
 * Removes all that was noted of a tenant that is being deleted.
 *
 * @param input.untilMs nothing is begun after this.
 * @returns false if the time was up first.
 * @throws {LedgerUnavailableError}
 */
export async function forgetHistory(
  { history, clock }: Pick<Deps, 'history' | 'clock'>,
  { tenant, untilMs }: { tenant: string; untilMs: number },
): Promise<boolean> {
  for (;;) {
    const { hasMore } = await history.forgetSome({ tenant, daysMax: daysAtOnce });
    if (!hasMore) return true;
    if (clock.nowMs() > untilMs) return false;
  }
}
